'use strict';
/** Of lines and of causes: they differ in grey too. */
const COLOURS = ['#0072b2', '#d55e00', '#009e73', '#332244', '#cc79a7', '#56b4e9', '#e69f00', '#777777'];
/** Of engines: light, and none of them one of the above. */
const LIGHT = ['#a6bddb', '#fdcdac', '#b3e2cd', '#cbc3e3', '#f4cae4', '#e6f598', '#fff2ae', '#d9c7a7', '#cccccc', '#8fd0c8', '#e0a899', '#b8d6f0'];
/** Of lines, by turns after the colours: each pair of colour and dash is met once. */
const DASHES = [[], [8, 4], [2, 3], [10, 3, 2, 3]];
const $ = selector => document.querySelector(selector);

function element(tag, attributes, ...children) {
  const svg = ['svg', 'g', 'rect', 'line', 'path', 'text', 'circle'].includes(tag);
  const e = svg ? document.createElementNS('http://www.w3.org/2000/svg', tag) : document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) {
    if (name.startsWith('on')) e.addEventListener(name.slice(2), value);
    else if (name === 'style') e.style.cssText = value; // the page's policy allows no attribute of style
    else e.setAttribute(name, value);
  }
  e.append(...children);
  return e;
}

const grouped = n => Number(n).toLocaleString('en', { maximumFractionDigits: 3 });
const percent = share => (share * 100).toFixed(share < 0.0995 ? 1 : 0) + ' %';
function time(ps) {
  const units = [['ps', 1], ['ns', 1e3], ['µs', 1e6], ['ms', 1e9], ['s', 1e12]];
  let best = units[0];
  for (const u of units) if (Math.abs(ps) >= u[1]) best = u;
  return grouped((ps / best[1]).toPrecision(6)) + ' ' + best[0];
}
/** The next of 1, 2, 5 times a power of ten, at least 1. */
function round(step) {
  const power = 10 ** Math.floor(Math.log10(Math.max(1, step)));
  return power * [1, 2, 5, 10].find(digit => digit * power >= step);
}
function bytes(n) {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
  let u = 0;
  while (n >= 1024 && u < 4) { n /= 1024; u++; }
  return grouped(n.toPrecision(4)) + ' ' + units[u];
}

// ---- a tip beside the pointer ----

function tip(text, event) {
  const box = $('#tip');
  box.hidden = !text;
  if (!text) return;
  box.textContent = text;
  const x = Math.min(event.clientX + 14, innerWidth - box.offsetWidth - 8);
  const y = event.clientY + 18 + box.offsetHeight > innerHeight ? event.clientY - box.offsetHeight - 10 : event.clientY + 18;
  box.style.left = Math.max(4, x) + 'px';
  box.style.top = Math.max(4, y) + 'px';
}
const withTip = (node, text) => {
  node.addEventListener('pointermove', e => tip(text, e));
  node.addEventListener('pointerleave', () => tip(''));
  node.append(element('title', {}, text));
  return node;
};

// ---- words and tables ----

/** What people call a key of a result, and its unit. */
const NAMES = {
  crit_ns: ['time on the device', 'ns'], bound_ns: ['lower bound', 'ns'], observed_ns: ['time that the host sees', 'ns'],
  launch_ns: ['launch', 'ns'], algbw_gb_per_s: ['algorithm bandwidth', 'GB/s'], busbw_gb_per_s: ['bus bandwidth', 'GB/s'],
  efficiency: ['efficiency (lower bound / time)', ''], bound_kind: ['kind of bound', ''], peak_slots: ['most message slots in use', ''],
  n_elem: ['elements', ''], dtype: ['type', ''], rank_level: ['a rank is a', ''], buffer_kind: ['message slots in', ''],
  slot_size: ['slot size', 'B'], bytes: ['bytes per rank', 'B'], ranks: ['ranks', ''], slots: ['slots', ''], mfu_pct: ['use of the engines (MFU)', '%'],
  max_abs_err: ['largest error', ''], machine_hash: ['configuration', ''], op_log_hash: ['op log hash', ''], topology: ['machine', ''],
  wall_ms: ['simulated in', 'ms'], m: ['rows M', ''], n: ['columns N', ''], k: ['depth K', ''],
};
const UNITS = [[/_gb_per_s$/, 'GB/s'], [/_gflops$/, 'GFLOP/s'], [/_tflops$/, 'TFLOP/s'], [/_ns$/, 'ns'], [/_us$/, 'µs'], [/_ms$/, 'ms'],
  [/_ps$/, 'ps'], [/_pct$/, '%'], [/_bytes$/, 'B'], [/_ghz$/, 'GHz']];
function words(key) {
  if (Object.hasOwn(NAMES, key)) return NAMES[key];
  if (/^(set|ccl):/.test(key)) return [key.slice(4), ''];
  const unit = UNITS.find(u => u[0].test(key));
  return [(unit ? key.replace(unit[0], '') : key).replaceAll('_', ' '), unit ? unit[1] : ''];
}
const label = key => words(key)[0];
const headed = key => words(key)[0] + (words(key)[1] ? ', ' + words(key)[1] : '');

/** A value with its unit, as a reader would say it. */
function said(key, value) {
  if (value === '' || value === null || value === undefined) return '–';
  if (!isNumber(value)) return String(value);
  const unit = words(key)[1], n = Number(value);
  if (unit === 'ns') return time(n * 1000);
  if (unit === 'B') return bytes(n);
  if (key === 'efficiency') return percent(n);
  return grouped(value) + (unit ? ' ' + unit : '');
}

/** Pairs of a name and a value; of an object, one line for each of its fields. */
function facts(into, pairs, tell = (name, value) => String(value)) {
  for (const [name, value] of Object.entries(pairs)) {
    const text = value !== null && typeof value === 'object'
      ? Object.entries(value).map(([k, v]) => label(k) + ' ' + (typeof v === 'object' ? JSON.stringify(v) : said(k, v))).join('; ')
      : tell(name, value);
    into.append(element('div', { title: name }, element('span', {}, label(name)), text));
  }
}

const isNumber = v => v !== '' && v !== null && typeof v !== 'boolean' && !isNaN(Number(v));

/** A table whose columns sort by a click on their heads; what the heads say is given apart from the keys. */
function table(into, columns, rows, heads = columns.map(headed)) {
  const numeric = columns.map((c, i) => rows.some(r => isNumber(r[i])) && rows.every(r => r[i] === '' || isNumber(r[i])));
  const body = element('tbody');
  const text = v => v instanceof Node ? v.textContent : String(v);
  let order = 1;
  let by = -1;
  const fill = () => {
    body.replaceChildren(...rows.slice(0, 2000).map(r => element('tr', {}, ...r.map((v, i) =>
      element('td', numeric[i] ? { class: 'number' } : {}, v instanceof Node ? v : numeric[i] && v !== '' ? grouped(v) : String(v))))));
    head.forEach((h, i) => h.setAttribute('aria-sort', i !== by ? 'none' : order > 0 ? 'ascending' : 'descending'));
  };
  const head = columns.map((c, i) => element('th', numeric[i] ? { class: 'number', scope: 'col' } : { scope: 'col' }, element('button', {
    type: 'button', title: c + ': sort',
    onclick: () => {
      order = by === i ? -order : 1;
      by = i;
      rows.sort((a, b) => order * (numeric[i] ? Number(a[i]) - Number(b[i]) : text(a[i]).localeCompare(text(b[i]))));
      fill();
    },
  }, heads[i])));
  fill();
  into.replaceChildren(element('table', {}, element('thead', {}, element('tr', {}, ...head)), body));
}

// ---- legends ----

/** What an entry of a legend shows: a line with its dashes, or a filled box, perhaps hatched. */
function swatch(colour, kind, pattern) {
  const svg = element('svg', { width: 26, height: 12, 'aria-hidden': 'true', class: 'swatch' });
  if (kind === 'line') {
    svg.append(element('line', { x1: 0, y1: 6, x2: 26, y2: 6, stroke: colour, 'stroke-width': 3, 'stroke-dasharray': pattern.join(' ') || 'none' }));
  } else {
    svg.append(element('rect', { x: 6, y: 0, width: 14, height: 12, fill: colour }));
    for (let x = -6; pattern && x < 14; x += 5) svg.append(element('path', { d: 'M' + Math.max(6, x + 6) + ' ' + (x < 0 ? 12 + x : 12) + ' L' + Math.min(20, x + 18) + ' ' + (x + 18 > 20 ? x - 2 : 0), stroke: '#fff', 'stroke-width': 1.5 }));
  }
  return svg;
}

/** An entry of a legend. The attributes say what it maps to, for whoever checks that no two are alike. */
function entry(name, colour, kind, pattern, onclick) {
  const attributes = { class: 'entry', 'data-colour': colour, 'data-pattern': kind + ' ' + (Array.isArray(pattern) ? pattern.join(',') : pattern ? 'hatched' : '') };
  if (!onclick) return element('span', attributes, swatch(colour, kind, pattern), name);
  const button = element('button', { ...attributes, type: 'button', 'aria-pressed': 'true', title: 'show or hide' },
    swatch(colour, kind, pattern), element('span', {}, name), element('output', {}));
  button.addEventListener('click', () => {
    const on = button.getAttribute('aria-pressed') !== 'true';
    button.setAttribute('aria-pressed', on);
    onclick(on);
  });
  return button;
}

const MOST_LINES = COLOURS.length * DASHES.length;
const lineColour = i => COLOURS[i % COLOURS.length];
const lineDash = i => DASHES[Math.floor(i / COLOURS.length) % DASHES.length];

/** A plot with a legend of its own: each line has a colour and dash of its own, and can be hidden. */
function lines(box, options, names, data, tell) {
  const legend = element('div', { class: 'legend', role: 'group', 'aria-label': 'lines' });
  const at = element('p', { class: 'note at' }, ' ');
  const plot = new uPlot({
    ...options, legend: { show: false },
    series: [{}, ...names.map((name, i) => ({
      label: name, stroke: lineColour(i), width: 2, dash: lineDash(i), spanGaps: true, points: options.points,
    }))],
    hooks: { setCursor: [u => {
      const index = u.cursor.idx;
      const here = index !== null && index !== undefined;
      at.textContent = here ? 'at ' + tell.x(data[0][index]) : ' ';
      entries.forEach((e, i) => { e.lastChild.textContent = here && data[i + 1][index] !== null ? tell.y(data[i + 1][index]) : ''; });
    }] },
  }, data, box);
  const entries = names.map((name, i) => entry(name, lineColour(i), 'line', lineDash(i), on => plot.setSeries(i + 1, { show: on })));
  legend.append(...entries);
  box.append(at, legend);
  return plot;
}

