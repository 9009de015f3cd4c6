// Search over all pages, and the list of pages on narrow windows. No server, no network: the index is a script of this
// folder, loaded when the search is first used.
'use strict';
(() => {
  const root = document.body.dataset.root;
  const box = document.getElementById('search');
  const list = document.getElementById('found');
  const menu = document.getElementById('menu');
  const navigation = document.getElementById('navigation');
  const MOST = 20;
  let chosen = -1;

  menu.addEventListener('click', () => {
    const open = navigation.classList.toggle('open');
    menu.setAttribute('aria-expanded', String(open));
  });

  function whenLoaded(then) {
    if (window.kernbenchSearch) { then(); return; }
    let script = document.getElementById('search-index');
    if (!script) {
      script = document.createElement('script');
      script.id = 'search-index';
      script.src = root + 'search-index.js';
      document.head.append(script);
    }
    script.addEventListener('load', then, { once: true });
  }

  // How well a section answers: every word must occur, best in the heading, then in the title, then in the text.
  function score(words, title, heading, text) {
    let sum = 0;
    for (const word of words) {
      const inHeading = place(heading, word), inTitle = place(title, word), inText = place(text, word);
      if (inHeading + inTitle + inText === 0) return 0;
      sum += 8 * inHeading + 4 * inTitle + inText;
    }
    return sum;
  }

  // 2 if a text has a word at the beginning of one of its words, 1 if elsewhere, 0 if not.
  function place(text, word) {
    const at = text.indexOf(word);
    if (at < 0) return 0;
    for (let i = at; i >= 0; i = text.indexOf(word, i + 1)) {
      if (i === 0 || !/[\p{L}\p{N}]/u.test(text[i - 1])) return 2;
    }
    return 1;
  }

  function find(query) {
    const words = query.toLowerCase().split(/\s+/).filter(w => w.length > 0);
    const found = [];
    if (words.length === 0) return found;
    for (const page of window.kernbenchSearch) {
      const decision = page[0].startsWith('docs/adr/') ? 0.5 : 1; // guides before decisions
      for (let i = 2; i < page.length; i += 3) {
        const [heading, anchor, text] = [page[i], page[i + 1], page[i + 2]];
        const points = decision * score(words, page[1].toLowerCase(), heading.toLowerCase(), text.toLowerCase());
        if (points > 0) found.push({ points, page: page[0], title: page[1], heading, anchor, text });
      }
    }
    return found.sort((a, b) => b.points - a.points).slice(0, MOST).map(f => ({ ...f, words }));
  }

  // The text round the first word found, with the words marked.
  function excerpt(hit) {
    const small = document.createElement('small');
    const lower = hit.text.toLowerCase();
    const first = Math.max(0, Math.min(...hit.words.map(w => lower.indexOf(w)).filter(i => i >= 0).concat(lower.length)) - 40);
    const text = (first > 0 && first < lower.length ? '… ' : '') + (first < lower.length ? hit.text.slice(first, first + 160) : hit.text.slice(0, 160));
    const pattern = new RegExp('(' + hit.words.map(w => w.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')).join('|') + ')', 'gi');
    text.split(pattern).forEach((part, i) => {
      if (i % 2 === 0) { small.append(part); return; }
      const mark = document.createElement('mark');
      mark.textContent = part;
      small.append(mark);
    });
    return small;
  }

  function show() {
    const query = box.value.trim();
    list.replaceChildren();
    choose(-1);
    const open = query.length > 0;
    list.hidden = !open;
    box.setAttribute('aria-expanded', String(open));
    if (!open) return;
    const hits = find(query);
    hits.forEach((hit, i) => {
      const item = document.createElement('li');
      item.id = 'found-' + i;
      item.setAttribute('role', 'option');
      const link = document.createElement('a');
      link.tabIndex = -1;
      link.href = root + hit.page + (hit.anchor && hit.heading !== hit.title ? '#' + hit.anchor : '');
      const name = document.createElement('b');
      name.textContent = hit.heading === hit.title ? hit.title : hit.title + ' › ' + hit.heading;
      link.append(name, excerpt(hit));
      link.addEventListener('click', close);
      item.append(link);
      list.append(item);
    });
    if (hits.length === 0) {
      const none = document.createElement('li');
      none.className = 'none';
      none.textContent = 'No page has all of these words.';
      list.append(none);
    } else {
      choose(0);
    }
  }

  function choose(index) {
    const items = list.querySelectorAll('[role=option]');
    chosen = items.length === 0 ? -1 : Math.max(-1, Math.min(index, items.length - 1));
    items.forEach((item, i) => item.setAttribute('aria-selected', String(i === chosen)));
    if (chosen >= 0) {
      box.setAttribute('aria-activedescendant', items[chosen].id);
      items[chosen].scrollIntoView({ block: 'nearest' });
    } else {
      box.removeAttribute('aria-activedescendant');
    }
  }

  function close() {
    list.hidden = true;
    box.setAttribute('aria-expanded', 'false');
  }

  box.addEventListener('input', () => whenLoaded(show));
  box.addEventListener('focus', () => { if (box.value) whenLoaded(show); });
  box.addEventListener('keydown', event => {
    const items = list.querySelectorAll('[role=option]');
    if (event.key === 'ArrowDown') { choose(chosen + 1); event.preventDefault(); }
    else if (event.key === 'ArrowUp') { choose(Math.max(0, chosen - 1)); event.preventDefault(); }
    else if (event.key === 'Enter' && items[chosen]) { items[chosen].querySelector('a').click(); }
    else if (event.key === 'Escape') { box.value = ''; close(); box.blur(); }
  });
  document.addEventListener('keydown', event => {
    const typing = /^(INPUT|TEXTAREA|SELECT)$/.test(document.activeElement.tagName);
    if (event.key === '/' && !typing && !event.ctrlKey && !event.metaKey && !event.altKey) { box.focus(); event.preventDefault(); }
  });
  document.addEventListener('click', event => { if (!event.target.closest('.search')) close(); });
})();
