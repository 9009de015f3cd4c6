// Opens a report in headless Chromium, offline, takes screenshots, uses it, and prints what went wrong.
//
//   npm install --no-save --ignore-scripts @sparticuz/chromium puppeteer-core
//   node scripts/check-report.mjs report.html SHOTS-PREFIX 1280 400
//
// Exit code 1 if the console has an error, a request was made, or the page is wider than the window.
import path from 'node:path';
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';

const load = name => import(pathToFileURL(createRequire(path.resolve('x.js')).resolve(name)).href);
const chromium = (await load('@sparticuz/chromium')).default;
const puppeteer = (await load('puppeteer-core')).default;
const [file, prefix, ...widths] = process.argv.slice(2);
const browser = await puppeteer.launch({
  args: [...chromium.args, '--no-sandbox'],
  executablePath: await chromium.executablePath(),
  headless: 'shell',
});
let bad = false;
for (const width of widths.map(Number)) {
  const page = await browser.newPage();
  await page.setOfflineMode(true);
  await page.setViewport({ width, height: 900 });
  const complaints = [];
  page.on('console', m => { if (['error', 'warning'].includes(m.type())) complaints.push(m.text()); });
  page.on('pageerror', e => complaints.push(String(e)));
  page.on('request', r => { if (!/^(file|data):/.test(r.url())) complaints.push('request ' + r.url()); });
  await page.goto(pathToFileURL(path.resolve(file)).href);
  await new Promise(done => setTimeout(done, 500));
  await page.screenshot({ path: `${prefix}-${width}.png`, fullPage: true });
  // Use it as a reader would: sort, filter, zoom, pick a package.
  const used = await page.evaluate(async () => {
    const click = s => { const e = document.querySelector(s); if (e) e.dispatchEvent(new MouseEvent('click', { bubbles: true })); return !!e; };
    return {
      sections: [...document.querySelectorAll('section')].filter(s => !s.hidden).map(s => s.id),
      sorted: click('th button'),
      zoomed: click('#timeline button'),
      picked: click('#network g[role=button]'),
      wider: document.documentElement.scrollWidth - innerWidth,
    };
  });
  console.log(JSON.stringify({ width, complaints, ...used }));
  bad ||= complaints.length > 0 || used.wider > 0;
  await page.close();
}
await browser.close();
process.exit(bad ? 1 : 0);
