// ---- the page ----

function start() {
  const about = RUN || SWEEP;
  const title = RUN ? RUN.title + ' on ' + RUN.conditions.machine : 'sweep of ' + SWEEP.bench;
  $('#title').textContent = title;
  document.title = title + ' · kernbench';
  if (RUN) {
    facts($('#conditions .facts'), RUN.conditions, said);
    results(RUN);
    causes(RUN);
    sensitivities(RUN);
    timeline(RUN);
    usage(RUN);
    network(RUN);
  } else {
    const machines = new Set(SWEEP.rows.filter(r => r.machine).map(r => r.machine + ' (configuration ' + r.machine_hash + ')'));
    const failed = SWEEP.rows.filter(r => r.status !== 'ok').length;
    facts($('#conditions .facts'), {
      bench: SWEEP.bench, kernbench: SWEEP.kernbench, points: grouped(SWEEP.points),
      seed: 'none: the simulation is deterministic',
      ...Object.fromEntries(Object.entries(SWEEP.axes).map(([k, v]) => ['varies: ' + label(k), v.slice(0, 12).join(', ') + (v.length > 12 ? ', … (' + v.length + ' values)' : '')])),
      machine: [...machines].slice(0, 4).join(', ') + (machines.size > 4 ? ' and ' + (machines.size - 4) + ' more' : ''),
    });
    $('#verdict').textContent = grouped(SWEEP.rows.length) + ' of ' + grouped(SWEEP.points) + ' points' + (failed ? '; ' : ', all ok.');
    if (failed) $('#verdict').append(element('span', { class: 'bad' }, grouped(failed) + ' of them went wrong or could not be run: reasons below.'));
    for (const warning of SWEEP.warnings || []) $('#verdict').append(element('p', { class: 'bad' }, 'Warning: ' + warning + '.'));
    failures(SWEEP.rows);
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
