const RUN = JSON.parse($('#run').textContent);
const SWEEP = JSON.parse($('#sweep').textContent);

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
  facts($('#results .facts'), m, said);
}

function causes(run) {
  if (!run.breakdown.length && !run.breakdown_note) return;
  $('#causes').hidden = false;
  $('#causes .note').textContent = run.breakdown.length
    ? 'The critical path, cut by what it was spent on; the shares sum to 100 %. Place and line: where most of each was met.'
    : run.breakdown_note;
  if (run.why && run.why.length) {
    $('#causes .note').before(element('ul', { class: 'why' }, ...run.why.map(w => element('li', {}, w))));
  }
  const body = element('tbody');
  run.breakdown.forEach(([cause, ns, share, place, line], i) => body.append(element('tr', {},
    element('td', { class: 'number' }, percent(share)),
    element('td', { class: 'bar' }, bar(share, i)),
    element('td', { class: 'cause' }, cause), element('td', { class: 'number' }, time(ns * 1000)),
    element('td', { class: 'place' }, place), element('td', { class: 'place' }, line))));
  if (run.breakdown.length) {
    const head = ['share', '', 'cause', 'time', 'mostly at', 'kernel line'].map((h, i) => element('th', i === 0 || i === 3 ? { class: 'number', scope: 'col' } : { scope: 'col' }, h));
    $('#causes .body').append(element('div', { class: 'table' }, element('table', { class: 'cards' }, element('thead', {}, element('tr', {}, ...head)), body)));
  }
}

function bar(share, i) {
  const [colour, hatched] = causeLook(i);
  return element('i', { class: hatched ? 'hatched' : '', style: 'width:' + 100 * share + '%;background-color:' + colour });
}

const causeNames = RUN && Array.isArray(RUN.breakdown) ? RUN.breakdown.map(b => b[0]) : [];
/** Colour of a cause, and whether it is hatched: sixteen looks for the causes of a run, the most frequent first. */
const causeLook = i => [COLOURS[i % COLOURS.length], i >= COLOURS.length];

// ---- sensitivities ----

function sensitivities(run) {
  if (!run.sensitivities || !run.sensitivities.length) return;
  $('#worth').hidden = false;
  if (run.sensitivities_leave_out) $('#worth .note').textContent += ' Note: ' + run.sensitivities_leave_out + '.';
  const total = Number(run.metrics.crit_ns);
  const change = ns => ns === '' ? '–' : (ns > 0 ? '+' : '') + grouped(ns) + ' ns (' + (ns > 0 ? '+' : '') + (100 * ns / total).toFixed(2) + ' %)';
  table($('#worth .table'), ['number of the machine', 'is', 'a step', 'effect of more', 'effect of less'],
    run.sensitivities.map(([path, value, step, more, less]) => [path, step === '1 %' ? value
      : element('span', {}, value, element('span', { class: 'narrow' }, ' (' + step + ')')), step, change(more), change(less)]),
    ['number of the machine', 'is', 'a step', 'time with a step more', 'time with a step less']);
}

// ---- timeline ----

function timeline(run) {
  if (!run.tracks || !run.tracks.length) return;
  $('#timeline').hidden = false;
  $('#timeline .note').textContent = 'First row, full colours: the critical path by cause. Below, light colours: engines, those on the path first' +
    (run.tracks_left_out ? ' (' + grouped(run.tracks_left_out) + ' of the others left out)' : '') +
    '. Drag to move, Ctrl + wheel or the buttons to zoom, arrow keys work too.';
  const box = $('#timeline .body');
  const canvas = element('canvas', { tabindex: 0, 'aria-label': 'timeline of engines' });
  box.append(canvas);
  const begin = run.begin_ps, end = run.end_ps;
  let from = begin, to = end, filter = '';
  const narrow = () => box.clientWidth < 620; // then names stand above the bars, in full
  const row = () => narrow() ? 32 : 17, top = () => narrow() ? 58 : 44, above = () => narrow() ? 14 : 0;
  const kinds = [...new Set(run.labels.map(l => l.split(' ')[0]))];
  const engineColour = kind => LIGHT[kinds.indexOf(kind) % LIGHT.length];
  let rows = [];
  const choose = () => { rows = run.tracks.filter(t => t[0].toLowerCase().includes(filter)); draw(); };

  function left() { return narrow() ? 0 : 190; }
  const x = ps => left() + (ps - from) / (to - from) * (canvas.clientWidth - left());

  function draw() {
    const width = box.clientWidth, height = top() + rows.length * row() + 6;
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
    for (const [a, b, cause] of run.path) {
      const [colour, hatched] = causeLook(Math.max(0, causeNames.indexOf(cause)));
      bar(g, a, b, 20 + above(), 16, colour, hatched);
    }
    rows.forEach(([, slices], r) => {
      for (const s of slices) if (s[1] >= from && s[0] <= to) {
        bar(g, s[0], s[1], top() + r * row() + 2 + above(), 13, engineColour(run.labels[s[2]].split(' ')[0]), false);
      }
    });
    g.restore();
    g.textAlign = 'left';
    g.fillStyle = '#222';
    const room = narrow() ? width - 8 : left() - 8;
    g.fillText('critical path', 4, narrow() ? 25 : 28, room);
    rows.forEach(([name], r) => g.fillText(name, 4, top() + r * row() + 8.5, room));
  }

  function bar(g, a, b, y, h, colour, hatched) {
    if (b < from || a > to) return;
    const x1 = x(Math.max(a, from)), w = Math.max(1, x(Math.min(b, to)) - x1 - 0.5);
    g.fillStyle = colour;
    g.fillRect(x1, y, w, h);
    if (!hatched || w < 3) return;
    g.save();
    g.beginPath();
    g.rect(x1, y, w, h);
    g.clip();
    g.strokeStyle = '#fff';
    for (let d = x1 - h; d < x1 + w; d += 5) {
      g.beginPath();
      g.moveTo(d, y + h);
      g.lineTo(d + h, y);
      g.stroke();
    }
    g.restore();
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
    const ps = at(e), r = Math.floor((e.offsetY - top()) / row());
    let text = '';
    if (e.offsetX > left()) {
      if (e.offsetY >= 16 && e.offsetY < 38 + above()) {
        const s = run.path.find(p => p[0] <= ps && ps < p[1]);
        if (s) text = 'critical path: ' + s[2] + '\n' + time(s[1] - s[0]) + ' at ' + s[3] + (s[4] ? '\n' + s[4] : '') + '\nfrom ' + time(s[0] - begin);
      } else if (r >= 0 && r < rows.length) {
        const slack = (to - from) / canvas.clientWidth;
        const s = rows[r][1].find(p => p[0] - slack <= ps && ps <= p[1] + slack);
        if (s) text = rows[r][0] + '\n' + run.labels[s[2]] + '\n' + time(s[1] - s[0]) + ', ' + bytes(s[3]) + '\nfrom ' + time(s[0] - begin);
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
    element('button', { type: 'button', onclick: () => { from = begin; to = end; draw(); } }, 'all'), find);
  $('#timeline .tools').after(element('div', { class: 'legends' },
    element('div', { class: 'legend' }, element('b', {}, 'critical path:'), ...causeNames.map((c, i) => entry(c, causeLook(i)[0], 'box', causeLook(i)[1]))),
    element('div', { class: 'legend' }, element('b', {}, 'engines:'), ...kinds.map(k => entry(k, engineColour(k), 'box', false)))));
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
    ' windows of ' + time(width) + '. Drag over a plot to zoom, double click to go back; a name of the legend hides its line.';
  const middles = Array.from({ length: windows }, (_, w) => (w + 0.5) * width);
  for (const [title, kinds] of charts) {
    const box = element('div');
    $('#usage .body').append(box);
    const means = k => kinds[k].reduce((a, b) => a + Number(b), 0);
    const names = Object.keys(kinds).sort((a, b) => means(b) - means(a)).slice(0, MOST_LINES);
    const plot = lines(box, {
      title: title + ', share of the time', width: box.clientWidth, height: 260,
      scales: { x: { time: false }, y: { range: [0, 1] } },
      axes: [{ label: 'time from the start of the run', values: (u, v) => v.map(time), space: 70 },
        { size: 58, values: (u, v) => v.map(s => Math.round(s * 100) + ' %') }],
      points: { show: false },
    }, names.map(n => n.replaceAll('_', ' ')), [middles, ...names.map(n => kinds[n].map(Number))], { x: time, y: percent });
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
    run.busiest_links.map(([kind, name, share, moved, waited]) => [kind, name, (share * 100).toFixed(1), moved, waited]),
    ['kind', 'link', 'busy, % of the run', 'carried, B', 'others waited, ns']);
}

