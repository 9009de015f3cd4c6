package org.kernbench.site;

/**
 * What the search finds: a heading of a page with the text under it, down to the next heading.
 *
 * @param anchor of the heading; empty for the top of the page
 * @param text without marks
 */
record Section(String heading, String anchor, String text) {}
