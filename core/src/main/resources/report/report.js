'use strict';
const COLOURS = ['#0072b2', '#d55e00', '#009e73', '#332244', '#cc79a7', '#56b4e9', '#e69f00', '#777777'];
const $ = selector => document.querySelector(selector);
const RUN = JSON.parse($('#run').textContent);
const SWEEP = JSON.parse($('#sweep').textContent);

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

function facts(into, pairs) {
  for (const [name, value] of Object.entries(pairs)) {
    into.append(element('div', {}, element('span', {}, name.replaceAll('_', ' ')), String(value)));
  }
}

const isNumber = v => v !== '' && v !== null && typeof v !== 'boolean' && !isNaN(Number(v));

/** A table whose columns sort by a click on their heads. */
function table(into, columns, rows) {
  const numeric = columns.map((c, i) => rows.some(r => isNumber(r[i])) && rows.every(r => r[i] === '' || isNumber(r[i])));
  const body = element('tbody');
  let order = 1;
  let by = -1;
  const fill = () => {
    body.replaceChildren(...rows.slice(0, 2000).map(r => element('tr', {}, ...r.map((v, i) =>
      element('td', numeric[i] ? { class: 'number' } : {}, v instanceof Node ? v : String(v))))));
  };
  const head = columns.map((c, i) => element('th', numeric[i] ? { class: 'number' } : {}, element('button', {
    type: 'button', title: 'sort',
    onclick: () => {
      order = by === i ? -order : 1;
      by = i;
      rows.sort((a, b) => order * (numeric[i] ? Number(a[i]) - Number(b[i]) : String(a[i]).localeCompare(String(b[i]))));
      fill();
    },
  }, c.replaceAll('_', ' '))));
  fill();
  into.replaceChildren(element('table', {}, element('thead', {}, element('tr', {}, ...head)), body));
}

// ---- results and causes ----

function results(run) {
  const m = run.metrics;
  const verdict = $('#verdict');
  if (run.status === 'ok') {
    verdict.textContent = run.values + (m.crit_ns ? '. Time ' + time(m.crit_ns * 1000) + ', lower bound ' + time(m.bound_ns * 1000) +
      ' (' + m.bound_kind + '): ' + grouped((m.crit_ns / m.bound_ns).toPrecision(3)) + ' x the bound.' : '.');
  } else {
    verdict.className = 'bad';
    verdict.textContent = run.status.replaceAll('_', ' ') + ': ' + run.problems.join('; ');
  }
  $('#results').hidden = false;
  const body = $('#results .body');
  body.className = 'body facts';
  const shown = {};
  for (const [name, value] of Object.entries(m)) shown[name] = isNumber(value) ? grouped(value) : value;
  facts(body, shown);
}

function causes(run) {
  if (!run.breakdown.length && !run.breakdown_note) return;
  $('#causes').hidden = false;
  $('#causes .note').textContent = run.breakdown.length
    ? 'The critical path, cut by what it was spent on; the shares sum to 100 %. Place and line: where most of each was met.'
    : run.breakdown_note;
  const body = element('tbody');
  run.breakdown.forEach(([cause, ns, share, place, line], i) => body.append(element('tr', {},
    element('td', { class: 'number' }, percent(share)),
    element('td', { class: 'bar' }, element('i', { style: 'width:' + 100 * share + '%;background:' + causeColour(cause) })),
    element('td', {}, cause), element('td', { class: 'number' }, grouped(ns) + ' ns'),
    element('td', {}, place), element('td', {}, line))));
  if (run.breakdown.length) $('#causes .body').append(element('div', { class: 'table' }, element('table', {}, body)));
}

const causeNames = RUN && Array.isArray(RUN.breakdown) ? RUN.breakdown.map(b => b[0]) : [];
const causeColour = cause => COLOURS[Math.max(0, causeNames.indexOf(cause)) % COLOURS.length];

// ---- timeline ----

function timeline(run) {
  if (!run.tracks || !run.tracks.length) return;
  $('#timeline').hidden = false;
  $('#timeline .note').textContent = 'First row: the critical path by cause, in the colours above. Below: engines, those on the path first' +
    (run.tracks_left_out ? ' (' + grouped(run.tracks_left_out) + ' of the others left out)' : '') +
    '. Drag to move, Ctrl + wheel or the buttons to zoom, arrow keys work too.';
  const box = $('#timeline .body');
  const canvas = element('canvas', { tabindex: 0, 'aria-label': 'timeline of engines' });
  box.append(canvas);
  const begin = run.begin_ps, end = run.end_ps;
  let from = begin, to = end, filter = '';
  const ROW = 17, TOP = 44;
  const kinds = [...new Set(run.labels.map(l => l.split(' ')[0]))];
  let rows = [];
  const choose = () => { rows = run.tracks.filter(t => t[0].toLowerCase().includes(filter)); draw(); };

  function left() { return Math.min(190, canvas.clientWidth * 0.34); }
  const x = ps => left() + (ps - from) / (to - from) * (canvas.clientWidth - left());

  function draw() {
    const width = box.clientWidth, height = TOP + rows.length * ROW + 6;
    const scale = devicePixelRatio || 1;
    canvas.width = width * scale;
    canvas.height = height * scale;
    canvas.style.height = height + 'px';
    const g = canvas.getContext('2d');
    g.scale(scale, scale);
    g.clearRect(0, 0, width, height);
    g.font = '11px system-ui, sans-serif';
    g.textBaseline = 'middle';
    g.fillStyle = '#666';
    const step = round((to - from) / Math.max(2, Math.floor((width - left()) / 110)));
    for (let ps = begin + Math.ceil((from - begin) / step) * step; ps <= to; ps += step) {
      g.fillStyle = '#e4e4e4';
      g.fillRect(Math.round(x(ps)), 16, 1, height);
      g.fillStyle = '#666';
      g.textAlign = x(ps) - left() < 30 ? 'left' : width - x(ps) < 30 ? 'right' : 'center';
      g.fillText(time(ps - begin), x(ps), 8);
    }
    g.save();
    g.beginPath();
    g.rect(left(), 0, width, height);
    g.clip();
    for (const [a, b, cause] of run.path) bar(g, a, b, 20, 16, causeColour(cause));
    rows.forEach(([, slices], r) => {
      for (const s of slices) if (s[1] >= from && s[0] <= to) {
        bar(g, s[0], s[1], TOP + r * ROW + 2, ROW - 4, COLOURS[kinds.indexOf(run.labels[s[2]].split(' ')[0]) % COLOURS.length]);
      }
    });
    g.restore();
    g.textAlign = 'left';
    g.fillStyle = '#222';
    g.fillText('critical path', 4, 28, left() - 8);
    rows.forEach(([name], r) => g.fillText(name, 4, TOP + r * ROW + ROW / 2, left() - 8));
  }

  function bar(g, a, b, y, h, colour) {
    if (b < from || a > to) return;
    g.fillStyle = colour;
    g.fillRect(x(Math.max(a, from)), y, Math.max(1, x(Math.min(b, to)) - x(Math.max(a, from)) - 0.5), h);
  }

  function zoom(factor, at) {
    const span = Math.min(end - begin, Math.max(100, (to - from) * factor));
    const ratio = (at - from) / (to - from);
    from = Math.max(begin, Math.min(end - span, at - span * ratio));
    to = from + span;
    draw();
  }
  function move(by) {
    const span = to - from;
    from = Math.max(begin, Math.min(end - span, from + by));
    to = from + span;
    draw();
  }
  const at = e => from + (e.offsetX - left()) / (canvas.clientWidth - left()) * (to - from);
  canvas.addEventListener('wheel', e => { if (e.ctrlKey || e.metaKey) { e.preventDefault(); zoom(e.deltaY > 0 ? 1.3 : 1 / 1.3, at(e)); } }, { passive: false });
  let dragged = null;
  canvas.addEventListener('pointerdown', e => { dragged = e.clientX; canvas.setPointerCapture(e.pointerId); });
  canvas.addEventListener('pointerup', () => { dragged = null; });
  canvas.addEventListener('pointermove', e => {
    if (dragged !== null) {
      move((dragged - e.clientX) / (canvas.clientWidth - left()) * (to - from));
      dragged = e.clientX;
      return;
    }
    const ps = at(e), row = Math.floor((e.offsetY - TOP) / ROW);
    let text = '';
    if (e.offsetX > left()) {
      if (e.offsetY >= 18 && e.offsetY < 38) {
        const s = run.path.find(p => p[0] <= ps && ps < p[1]);
        if (s) text = 'critical path: ' + s[2] + '\n' + time(s[1] - s[0]) + ' at ' + s[3] + (s[4] ? '\n' + s[4] : '') + '\nfrom ' + time(s[0] - begin);
      } else if (row >= 0 && row < rows.length) {
        const slack = (to - from) / canvas.clientWidth;
        const s = rows[row][1].find(p => p[0] - slack <= ps && ps <= p[1] + slack);
        if (s) text = rows[row][0] + '\n' + run.labels[s[2]] + '\n' + time(s[1] - s[0]) + ', ' + bytes(s[3]) + '\nfrom ' + time(s[0] - begin);
      }
    }
    tip(text, e);
  });
  canvas.addEventListener('pointerleave', () => tip(''));
  canvas.addEventListener('keydown', e => {
    const span = to - from;
    if (e.key === 'ArrowLeft') move(-span / 10);
    else if (e.key === 'ArrowRight') move(span / 10);
    else if (e.key === '+') zoom(1 / 1.5, (from + to) / 2);
    else if (e.key === '-') zoom(1.5, (from + to) / 2);
    else return;
    e.preventDefault();
  });
  const tools = $('#timeline .tools');
  const find = element('input', { type: 'search', placeholder: 'filter, e.g. sip0.cube3', 'aria-label': 'filter engines' });
  find.addEventListener('input', () => { filter = find.value.toLowerCase(); choose(); });
  tools.append(
    element('button', { type: 'button', onclick: () => zoom(1 / 1.5, (from + to) / 2) }, 'zoom in'),
    element('button', { type: 'button', onclick: () => zoom(1.5, (from + to) / 2) }, 'zoom out'),
    element('button', { type: 'button', onclick: () => { from = begin; to = end; draw(); } }, 'all'), find,
    ...kinds.map((k, i) => element('span', {}, element('b', { style: 'color:' + COLOURS[i % COLOURS.length] }, '■ '), k)));
  addEventListener('resize', draw);
  choose();
}

// ---- use over time ----

/** A chart of shares of windows: how busy the engines, or the links, of each kind were. */
function usage(run) {
  const charts = [['engines', run.engines_over_time], ['links', run.links_over_time]].filter(c => c[1] && Object.keys(c[1]).length);
  if (!charts.length) return;
  $('#usage').hidden = false;
  const windows = Object.values(charts[0][1])[0].length, width = (run.end_ps - run.begin_ps) / windows;
  $('#usage .note').textContent = 'Mean over the engines, or links, of a kind that worked at all, in ' + windows +
    ' windows of ' + time(width) + '. Drag over a plot to zoom, double click to go back; click a name to hide its line.';
  const middles = Array.from({ length: windows }, (_, w) => (w + 0.5) * width);
  for (const [title, kinds] of charts) {
    const box = element('div');
    $('#usage .body').append(box);
    const means = k => kinds[k].reduce((a, b) => a + Number(b), 0);
    const names = Object.keys(kinds).sort((a, b) => means(b) - means(a));
    const plot = new uPlot({
      title, width: box.clientWidth, height: 260,
      scales: { x: { time: false }, y: { range: [0, 1] } },
      axes: [{ values: (u, v) => v.map(time), space: 70 }, { size: 58, values: (u, v) => v.map(s => Math.round(s * 100) + ' %') }],
      series: [{ label: 'at', value: (u, v) => v === null ? '' : time(v) }, ...names.map((n, i) => ({
        label: n.replaceAll('_', ' '), stroke: COLOURS[i % COLOURS.length], width: 1.5,
        dash: i >= COLOURS.length ? [6, 4] : undefined, points: { show: false }, value: (u, v) => v === null ? '' : percent(v),
      }))],
    }, [middles, ...names.map(n => kinds[n].map(Number))], box);
    addEventListener('resize', () => plot.setSize({ width: box.clientWidth, height: 260 }));
  }
}

// ---- links ----

/** From light grey to dark red; darkness grows evenly, so it reads in grey too. */
function heat(share) {
  const t = Math.sqrt(Math.min(1, share));
  return 'rgb(' + Math.round(225 - 90 * t) + ',' + Math.round(225 - 205 * t) + ',' + Math.round(225 - 190 * t) + ')';
}

function drawing(title, width, height, columns, count, links, name, onpick) {
  const step = 88, box = 46, pad = 52;
  const w = pad * 2 + (columns - 1) * step, h = pad * 2 + (Math.ceil(count / columns) - 1) * step;
  const svg = element('svg', { viewBox: '0 0 ' + w + ' ' + h, width: Math.min(w * 1.2, 560), role: 'img', 'aria-label': title });
  const place = i => [pad + i % columns * step, pad + Math.floor(i / columns) * step];
  for (const [a, b, link, share, moved, waited] of links.slice().reverse()) {
    const [x1, y1] = place(a), [x2, y2] = place(b);
    const length = Math.hypot(x2 - x1, y2 - y1), nx = -(y2 - y1) / length * 5, ny = (x2 - x1) / length * 5;
    const far = length > step * 1.1;
    const d = far
      ? 'M' + (x1 + nx) + ' ' + (y1 + ny) + ' Q' + ((x1 + x2) / 2 + nx * 8) + ' ' + ((y1 + y2) / 2 + ny * 8) + ' ' + (x2 + nx) + ' ' + (y2 + ny)
      : 'M' + (x1 + nx) + ' ' + (y1 + ny) + ' L' + (x2 + nx) + ' ' + (y2 + ny);
    svg.append(withTip(element('path', { d, fill: 'none', stroke: heat(share), 'stroke-width': 3 + 5 * share }),
      link + '\nbusy ' + percent(share) + ' of the time, ' + bytes(moved) + (waited > 0 ? '\nothers waited ' + grouped(waited) + ' ns' : '')));
  }
  for (let i = 0; i < count; i++) {
    const [x, y] = place(i);
    const node = element('g', onpick ? { style: 'cursor:pointer', tabindex: 0, role: 'button', onclick: () => onpick(i), onkeydown: e => { if (e.key === 'Enter') onpick(i); } } : {},
      element('rect', { x: x - box / 2, y: y - box / 2, width: box, height: box, rx: 7, fill: '#fff', stroke: '#222' }),
      element('text', { x, y: y + 4, 'text-anchor': 'middle', 'font-size': 12 }, name + i));
    svg.append(node);
  }
  return svg;
}

/** A cube from inside: nodes where the machine has them, links in their heat. */
function inside(cube) {
  const step = 120, pad = 40;
  const xs = cube.nodes.map(n => Number(n[2])), ys = cube.nodes.map(n => Number(n[3]));
  const left = Math.min(...xs), top = Math.min(...ys);
  const at = i => [pad + (xs[i] - left) * step, pad + (ys[i] - top) * step];
  const w = pad * 2 + (Math.max(...xs) - left) * step, h = pad * 2 + (Math.max(...ys) - top) * step;
  const svg = element('svg', { viewBox: '0 0 ' + w + ' ' + h, width: Math.min(w * 1.3, 560), role: 'img', 'aria-label': 'links inside ' + cube.name });
  for (const [a, b, link, share, moved, waited] of cube.links.slice().reverse()) {
    const [x1, y1] = at(a), [x2, y2] = at(b), length = Math.hypot(x2 - x1, y2 - y1) || 1;
    const nx = -(y2 - y1) / length * 3, ny = (x2 - x1) / length * 3;
    svg.append(withTip(element('line', { x1: x1 + nx, y1: y1 + ny, x2: x2 + nx, y2: y2 + ny, stroke: heat(share), 'stroke-width': 2 + 4 * share }),
      link + '\nbusy ' + percent(share) + ' of the time, ' + bytes(moved) + (waited > 0 ? '\nothers waited ' + grouped(waited) + ' ns' : '')));
  }
  cube.nodes.forEach(([name, kind], i) => {
    const [x, y] = at(i), named = ['pe', 'hbm', 'sram'].includes(kind);
    svg.append(withTip(named
      ? element('g', {},
        element('rect', { x: x - 15, y: y - 8, width: 30, height: 16, rx: 3, fill: '#fff', stroke: '#222', 'stroke-width': 0.7 }),
        element('text', { x, y: y + 3.5, 'text-anchor': 'middle', 'font-size': 10 }, name))
      : element('circle', { cx: x, cy: y, r: kind === 'router' ? 5 : 3.5, fill: kind === 'router' ? '#555' : '#aaa' }), name));
  });
  return svg;
}

function network(run) {
  if (!run.busiest_links || !run.busiest_links.length) return;
  $('#network').hidden = false;
  $('#network .note').textContent = 'Colour and width: share of the run in which a link took bytes in, each direction apart (' +
    'light: none, dark: all of it). Point at a link for its name and numbers; pick a package to see its cubes.';
  const m = run.machine, body = $('#network .body');
  const cubes = element('div');
  const show = sip => cubes.replaceChildren(element('p', { class: 'note' }, 'cubes of package ' + sip),
    drawing('links between the cubes of package ' + sip, 0, 0, m.cube_width, m.cube_width * m.cube_height,
      run.cube_links.filter(l => l[0] === sip).map(l => l.slice(1)), 'cube', null));
  if (m.sips > 1) {
    body.append(element('div', {}, element('p', { class: 'note' }, 'packages'),
      drawing('links between packages', 0, 0, m.sip_width, m.sips, run.package_links, 'sip', show)));
  }
  if (m.cube_width * m.cube_height > 1) {
    body.append(cubes);
    const busy = {};
    for (const l of run.cube_links) busy[l[0]] = (busy[l[0]] || 0) + Number(l[4]);
    show(Number(Object.keys(busy).sort((a, b) => busy[b] - busy[a])[0] || 0));
  }
  if (run.cube_inside) {
    body.append(element('div', {}, element('p', { class: 'note' }, 'inside ' + run.cube_inside.name + ', the cube whose links were busiest'), inside(run.cube_inside)));
  }
  $('#network .table').before(element('p', { class: 'note' }, 'The busiest links'));
  table($('#network .table'), ['kind', 'link', 'busy %', 'bytes', 'others waited, ns'],
    run.busiest_links.map(([kind, name, share, moved, waited]) => [kind, name, (share * 100).toFixed(1), moved, waited]));
}

// ---- curves ----

function curves(rows, axes) {
  const columns = Object.keys(rows[0]);
  const differs = c => new Set(rows.map(r => String(r[c]))).size > 1;
  const numeric = c => rows.every(r => r[c] === '' || isNumber(r[c])) && rows.some(r => isNumber(r[c]));
  const xs = columns.filter(c => numeric(c) && differs(c) && (axes ? axes.includes(c) : !/_ns$|^efficiency$|bw/.test(c)));
  const ys = columns.filter(c => numeric(c) && !xs.includes(c) && c !== 'max_abs_err');
  if (!xs.length || !ys.length) return;
  $('#curves').hidden = false;
  const select = (label, options, chosen) => {
    const s = element('select', {}, ...options.map(o => element('option', o === chosen ? { selected: '' } : {}, o)));
    s.addEventListener('change', draw);
    $('#curves .tools').append(element('label', {}, label + ' ', s));
    return s;
  };
  const x = select('over', xs, xs.includes('bytes') ? 'bytes' : xs.at(-1));
  const y = select('show', ys, ys.includes('crit_ns') ? 'crit_ns' : ys[0]);
  const scale = select('axes', ['log where wide', 'linear'], 'log where wide');
  $('#curves .tools').append(element('span', { class: 'note' }, 'drag over the plot to zoom, double click to go back'));
  const box = $('#curves .body');
  let plot = null;

  function draw() {
    // A coordinate whose value follows from another (bytes from n_elem) makes no series of its own.
    const follows = c => new Set(rows.map(r => r[x.value] + '|' + r[c])).size === new Set(rows.map(r => String(r[x.value]))).size;
    const own = (axes || columns.filter(c => !numeric(c) || xs.includes(c)))
      .filter(c => c !== x.value && differs(c) && !follows(c) && !/hash|machine|^key$|^problems$|bound_kind|^correct$|^status$|^ran$/.test(c));
    const groups = new Map();
    for (const r of rows) if (isNumber(r[y.value])) {
      const name = own.map(c => r[c]).join(', ') || y.value;
      if (!groups.has(name)) groups.set(name, new Map());
      groups.get(name).set(Number(r[x.value]), Number(r[y.value]));
    }
    const all = [...new Set(rows.map(r => Number(r[x.value])))].sort((a, b) => a - b);
    // A logarithmic axis over less than a factor of eight shows less than a linear one.
    const wide = values => scale.value !== 'linear' && Math.min(...values) > 0 && Math.max(...values) >= 8 * Math.min(...values);
    const logX = wide(all), logY = wide([...groups.values()].flatMap(g => [...g.values()]));
    const names = [...groups.keys()].slice(0, 16);
    const data = [all, ...names.map(n => all.map(v => groups.get(n).has(v) ? groups.get(n).get(v) : null))];
    const short = v => v === null || v === undefined ? '' : Math.abs(v) >= 1000 ? grouped(Math.round(v)) : String(Number(v.toPrecision(4)));
    const options = {
      width: box.clientWidth, height: 420,
      scales: { x: { time: false, distr: logX ? 3 : 1, log: logX ? 2 : 10 }, y: { distr: logY ? 3 : 1 } },
      axes: [{ label: x.value.replaceAll('_', ' '), values: (u, v) => v.map(short) },
        { label: y.value.replaceAll('_', ' '), size: 70, values: (u, v) => v.map(short) }],
      series: [{ label: x.value, value: (u, v) => short(v) }, ...names.map((n, i) => ({
        label: n, stroke: COLOURS[i % COLOURS.length], width: 2, spanGaps: true,
        dash: i >= COLOURS.length ? [6, 4] : undefined, points: { show: true, size: 6 }, value: (u, v) => short(v),
      }))],
    };
    if (plot) plot.destroy();
    plot = new uPlot(options, data, box);
  }
  addEventListener('resize', () => { if (plot) plot.setSize({ width: box.clientWidth, height: 420 }); });
  draw();
}

function allRows(rows) {
  $('#rows').hidden = false;
  const columns = Object.keys(rows[0]);
  const find = element('input', { type: 'search', placeholder: 'filter rows', 'aria-label': 'filter rows' });
  const fill = () => table($('#rows .table'), columns,
    rows.filter(r => !find.value || columns.some(c => String(r[c]).toLowerCase().includes(find.value.toLowerCase())))
      .map(r => columns.map(c => r[c] === undefined ? '' : r[c])));
  find.addEventListener('input', fill);
  $('#rows .tools').append(find, grouped(rows.length) + ' rows');
  fill();
}

// ---- the page ----

function start() {
  const about = RUN || SWEEP;
  const title = RUN ? RUN.title + ' on ' + RUN.conditions.machine : 'sweep of ' + SWEEP.bench;
  $('#title').textContent = title;
  document.title = title + ' · kernbench';
  if (RUN) {
    facts($('#conditions .facts'), RUN.conditions);
    results(RUN);
    causes(RUN);
    timeline(RUN);
    usage(RUN);
    network(RUN);
  } else {
    const machines = new Set(SWEEP.rows.map(r => r.machine + ' (configuration ' + r.machine_hash + ')'));
    const failed = SWEEP.rows.filter(r => r.status !== 'ok').length;
    facts($('#conditions .facts'), {
      bench: SWEEP.bench, kernbench: SWEEP.kernbench, points: grouped(SWEEP.points),
      seed: 'none: the simulation is deterministic',
      ...Object.fromEntries(Object.entries(SWEEP.axes).map(([k, v]) => ['varies: ' + k, v.slice(0, 12).join(', ') + (v.length > 12 ? ', … (' + v.length + ' values)' : '')])),
      machine: [...machines].slice(0, 4).join(', ') + (machines.size > 4 ? ' and ' + (machines.size - 4) + ' more' : ''),
    });
    $('#verdict').textContent = grouped(SWEEP.rows.length) + ' of ' + grouped(SWEEP.points) + ' points' + (failed ? ', ' : ', all ok.');
    for (const warning of SWEEP.warnings || []) $('#verdict').append(element('p', { class: 'bad' }, 'Warning: ' + warning + '.'));
    if (failed) $('#verdict').append(element('span', { class: 'bad' }, failed + ' failed; see the column problems.'));
  }
  const rows = RUN ? RUN.rows : SWEEP.rows;
  if (rows && rows.length) {
    curves(rows, RUN ? null : Object.keys(SWEEP.axes));
    allRows(rows);
  }
  $('#figures').hidden = !document.querySelector('#figures figure');
}
try {
  start();
} catch (error) {
  $('#verdict').className = 'bad';
  $('#verdict').textContent = 'This page cannot show all of its data, which are not what kernbench writes: ' + error.message;
}
