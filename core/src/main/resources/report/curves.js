// ---- curves ----

/** What says nothing of what was run: results, hashes, notes. */
const NO_COORDINATE = /hash|^key$|^problems$|bound_kind|^correct$|^status$|^ran$|^max_abs_err$|_ns$|_pct$|_gb_per_s$|^efficiency$|^peak_slots$/;

function curves(rows, axes) {
  const columns = Object.keys(rows[0]);
  const differs = c => new Set(rows.map(r => String(r[c]))).size > 1;
  const numeric = c => rows.every(r => r[c] === '' || r[c] === undefined || isNumber(r[c])) && rows.some(r => isNumber(r[c]));
  const xs = columns.filter(c => numeric(c) && differs(c) && (axes ? axes.includes(c) || c === 'bytes' || c === 'ranks' : !NO_COORDINATE.test(c)));
  const ys = columns.filter(c => numeric(c) && !xs.includes(c) && c !== 'max_abs_err' && (NO_COORDINATE.test(c) || differs(c)));
  if (!xs.length || !ys.length) return;
  $('#curves').hidden = false;
  const tools = $('#curves .tools');
  const select = (name, options, chosen, tell = o => o) => {
    const s = element('select', {}, ...options.map(o => element('option', o === chosen ? { selected: '', value: o } : { value: o }, tell(o))));
    s.addEventListener('change', draw);
    tools.append(element('label', {}, name + ' ', s));
    return s;
  };
  const x = select('over', xs, xs.includes('bytes') ? 'bytes' : xs.at(-1), headed);
  const y = select('show', ys, ys.includes('crit_ns') ? 'crit_ns' : ys[0], headed);
  const scale = select('axes', ['log where wide', 'linear'], 'log where wide');
  // A filter for each coordinate that a reader may want to hold.
  const coordinates = (axes || columns.filter(c => !NO_COORDINATE.test(c))).filter(c => columns.includes(c) && differs(c));
  const filters = coordinates.map(c => {
    const values = [...new Set(rows.map(r => String(r[c])))];
    return [c, select('only ' + label(c), ['', ...values], '', v => v === '' ? 'all' : said(c, v))];
  });
  const box = $('#curves .body');
  const note = $('#curves .note');
  let plot = null;

  /** What a line says of itself: its coordinates, then its ranks and bytes. */
  function name(line, own) {
    const parts = own.map(c => isNumber(line[0][c]) ? label(c) + ' ' + grouped(line[0][c]) : String(line[0][c]));
    for (const c of ['ranks', 'bytes']) {
      if (c === x.value || own.includes(c) || !columns.includes(c)) continue;
      const values = line.map(r => Number(r[c])).filter(v => v > 0);
      if (!values.length) continue;
      const least = Math.min(...values), most = Math.max(...values);
      const tell = v => c === 'bytes' ? bytes(v) : grouped(v);
      parts.push(tell(least) + (most > least ? ' to ' + tell(most) : '') + (c === 'ranks' ? ' ranks' : ' per rank'));
    }
    return parts.join(', ') || label(y.value);
  }

  function draw() {
    const kept = rows.filter(r => isNumber(r[y.value]) && Number(r.status === 'refused' ? 0 : 1) && isNumber(r[x.value]) &&
      filters.every(([c, s]) => s.value === '' || String(r[c]) === s.value));
    // A coordinate whose value follows from another (n_elem from bytes) makes no series of its own. A word follows only
    // if it is met at one place alone: sizes of f16 and f32 may all differ, and are two lines still.
    const kinds = c => new Set(kept.map(r => String(r[c]))).size, pairs = c => new Set(kept.map(r => r[x.value] + '|' + r[c])).size;
    const follows = c => pairs(c) === kinds(x.value) && (numeric(c) || pairs(c) === kinds(c));
    const own = coordinates.filter(c => c !== x.value && new Set(kept.map(r => String(r[c]))).size > 1 && !follows(c));
    const groups = new Map();
    for (const r of kept) {
      const key = JSON.stringify(own.map(c => r[c]));
      if (!groups.has(key)) groups.set(key, []);
      groups.get(key).push(r);
    }
    if (plot) plot.destroy();
    plot = null;
    box.replaceChildren();
    const shown = [...groups.values()].slice(0, MOST_LINES);
    note.textContent = kept.length ? 'Drag over the plot to zoom, double click to go back; a name of the legend hides its line.' +
      (groups.size > MOST_LINES ? ' Shown: ' + MOST_LINES + ' of ' + groups.size + ' lines; hold a coordinate to see others.' : '') : 'No row has both.';
    if (!kept.length) return;
    const at = shown.map(line => new Map(line.map(r => [Number(r[x.value]), Number(r[y.value])])));
    const all = [...new Set(shown.flatMap(line => line.map(r => Number(r[x.value]))))].sort((a, b) => a - b);
    // A logarithmic axis over less than a factor of eight shows less than a linear one.
    const wide = values => scale.value !== 'linear' && Math.min(...values) > 0 && Math.max(...values) >= 8 * Math.min(...values);
    const logX = wide(all), logY = wide(at.flatMap(g => [...g.values()]));
    const short = v => v === null || v === undefined ? '' : Math.abs(v) >= 1000 ? grouped(Math.round(v)) : String(Number(v.toPrecision(4)));
    const across = words(x.value)[1] === 'B' ? bytes : short;
    plot = lines(box, {
      width: box.clientWidth, height: 420, points: { show: true, size: 6 },
      scales: { x: { time: false, distr: logX ? 3 : 1, log: logX ? 2 : 10 }, y: { distr: logY ? 3 : 1 } },
      axes: [{ label: words(x.value)[1] === 'B' ? label(x.value) : headed(x.value), values: (u, v) => v.map(t => t === null ? '' : across(t)), space: 60 },
        { label: headed(y.value), size: 70, values: (u, v) => v.map(short) }],
    }, shown.map(line => name(line, own)), [all, ...at.map(g => all.map(v => g.has(v) ? g.get(v) : null))],
    { x: v => said(x.value, v), y: v => said(y.value, v) });
  }
  addEventListener('resize', () => { if (plot) plot.setSize({ width: box.clientWidth, height: 420 }); });
  draw();
}

/** The rows, without what is the same in all of them: that stands above. */
function allRows(rows) {
  $('#rows').hidden = false;
  const columns = Object.keys(rows[0]);
  const differs = c => rows.length < 2 || new Set(rows.map(r => String(r[c]))).size > 1;
  const hashes = c => /hash$|^key$/.test(c);
  const shown = [...columns.filter(c => differs(c) && !hashes(c)), ...columns.filter(c => differs(c) && hashes(c))];
  const same = columns.filter(c => !differs(c) && rows[0][c] !== '');
  if (same.length) {
    $('#rows .same').append(element('h3', {}, 'The same in all rows'), element('div', { class: 'facts' }));
    facts($('#rows .same .facts'), Object.fromEntries(same.map(c => [c, rows[0][c]])), said);
  }
  const find = element('input', { type: 'search', placeholder: 'filter rows', 'aria-label': 'filter rows' });
  const count = element('span', { role: 'status' });
  const fill = () => {
    const found = rows.filter(r => !find.value || columns.some(c => String(r[c]).toLowerCase().includes(find.value.toLowerCase())));
    count.textContent = grouped(found.length) + ' of ' + grouped(rows.length) + ' rows';
    table($('#rows .table'), shown, found.map(r => shown.map(c => r[c] === undefined ? '' : r[c])));
  };
  find.addEventListener('input', fill);
  $('#rows .tools').append(find, count);
  fill();
}

/** What went wrong, each reason once, with how many points it stopped. */
function failures(rows) {
  const reasons = new Map();
  for (const r of rows) if (r.status !== 'ok') {
    const why = String(r.status).replaceAll('_', ' ') + ': ' + (r.problems || 'no reason was stored');
    reasons.set(why, (reasons.get(why) || 0) + 1);
  }
  if (!reasons.size) return;
  $('#failures').hidden = false;
  const body = element('ul');
  for (const [why, count] of [...reasons].sort((a, b) => b[1] - a[1]).slice(0, 12)) {
    body.append(element('li', {}, element('b', {}, grouped(count) + (count === 1 ? ' point ' : ' points ')), why));
  }
  if (reasons.size > 12) body.append(element('li', {}, 'and ' + (reasons.size - 12) + ' more reasons; see the column problems'));
  $('#failures .body').append(body);
}

