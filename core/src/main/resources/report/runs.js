const DATA = JSON.parse($('#data').textContent);

// ---- the list ----

function list(entries) {
  $('#list').hidden = false;
  const chosen = new Set();
  const tools = $('#list .tools');
  const find = element('input', { type: 'search', placeholder: 'filter, e.g. ring', 'aria-label': 'filter runs and sweeps' });
  const kind = element('select', { 'aria-label': 'kind' }, ...['runs and sweeps', 'run', 'sweep'].map(k => element('option', { value: k }, k)));
  const count = element('span', { role: 'status' });
  const compare = element('button', { type: 'button', disabled: '', onclick: () => {
    const [a, b] = [...chosen];
    location.href = 'compare?a=' + encodeURIComponent(a) + '&b=' + encodeURIComponent(b);
  } }, 'compare two runs');
  tools.append(find, kind, compare, count);

  function choice(e) {
    if (e.kind !== 'run') return '';
    const box = element('input', { type: 'checkbox', 'aria-label': 'compare ' + e.path });
    box.checked = chosen.has(e.path);
    box.addEventListener('change', () => {
      if (box.checked) chosen.add(e.path); else chosen.delete(e.path);
      compare.disabled = chosen.size !== 2;
      compare.textContent = chosen.size === 2 ? 'compare ' + [...chosen].join(' with ') : 'compare two runs';
    });
    return box;
  }
  const told = e => [e.path, e.kind, e.bench, e.machine, e.with, e.status].join(' ').toLowerCase();
  function fill() {
    const found = entries.filter(e => (kind.selectedIndex === 0 || e.kind === kind.value) && told(e).includes(find.value.toLowerCase()));
    count.textContent = grouped(found.length) + ' of ' + grouped(entries.length);
    table($('#list .table'), ['', 'folder', 'crit_ns', 'bound_ns', 'bench', 'machine', 'status', 'with', 'written'],
      found.map(e => [choice(e), element('a', { href: 'report/' + e.path.split('/').map(encodeURIComponent).join('/') }, e.path),
        e.crit_ns ?? '', e.bound_ns ?? '', (e.kind === 'sweep' ? 'sweep of ' : '') + e.bench, e.machine, e.status,
        e.with, e.written.replace('T', ' ').replace('Z', '')]),
      ['', 'folder', 'time, ns', 'lower bound, ns', 'bench', 'machine', 'status', 'with', 'written, UTC']);
    $('#list table').className = 'runs';
  }
  find.addEventListener('input', fill);
  kind.addEventListener('change', fill);
  fill();
}

// ---- two runs ----

function comparison(a, b, diff) {
  $('#compare').hidden = false;
  $('#title').textContent = a + ' and ' + b;
  const [x, y] = [Number(diff.a.crit_ns), Number(diff.b.crit_ns)];
  $('#verdict').textContent = 'A, ' + a + ': ' + time(x * 1000) + '. B, ' + b + ': ' + time(y * 1000) + '. B takes ' +
    (y === x ? 'as long as A.' : time(Math.abs(y - x) * 1000) + (y > x ? ' longer' : ' less') + ' (' + (y > x ? '+' : '−') + (100 * Math.abs(y - x) / x).toFixed(2) + ' %).');
  if (diff.conditions.length) table($('#compare .conditions'), ['condition', 'A', 'B'], diff.conditions.map(c => [label(c.name), said(c.name, c.a), said(c.name, c.b)]));
  else $('#compare .conditions').append('Nothing: the conditions are the same.');
  const parts = list => list.filter(p => Number(p.a_ns) || Number(p.b_ns))
    .map(p => [p.what, p.cause, p.a_ns, p.b_ns, Number(p.difference_ns)]);
  const heads = what => [what, 'cause', 'A, ns', 'B, ns', 'B − A, ns'];
  table($('#compare .resources'), ['what', 'cause', 'a', 'b', 'd'], parts(diff.resources), heads('resource'));
  table($('#compare .places'), ['what', 'cause', 'a', 'b', 'd'], parts(diff.places).slice(0, 40), heads('place'));
}

if (DATA.problem) {
  $('#title').textContent = 'kernbench';
  $('#verdict').className = 'bad';
  $('#verdict').append(DATA.problem + ' ', element('a', { href: './' }, 'All runs and sweeps'));
} else if (DATA.diff) {
  comparison(DATA.a, DATA.b, DATA.diff);
} else {
  $('#title').textContent = 'Runs and sweeps in ' + DATA.root.split('/').at(-1);
  $('#title').title = DATA.root;
  $('#verdict').textContent = DATA.entries.length ? '' : 'None yet: kernbench run BENCH --out FOLDER writes one.';
  if (DATA.more) $('#verdict').textContent = 'Only the first ' + grouped(DATA.entries.length) + ' are shown; name a folder with fewer.';
  list(DATA.entries);
}
document.title = $('#title').textContent + ' · kernbench';
