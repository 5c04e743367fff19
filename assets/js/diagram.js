// The frame of one diagram. Its source is behind the # of the address; the frame
// has no origin, and Mermaid, which comes before this file, is told to be strict.
const out = document.getElementById('out');
const src = decodeURIComponent(location.hash.slice(1));
const dark = matchMedia('(prefers-color-scheme: dark)').matches;
window.mermaid.initialize({
  startOnLoad: false, securityLevel: 'strict', suppressErrorRendering: true, maxEdges: 300, deterministicIds: true,
  theme: dark ? 'dark' : 'neutral', fontFamily: 'system-ui, sans-serif', htmlLabels: false, flowchart: {htmlLabels: false},
});
// Tags in labels are words. Only <br> means something; << >> is part of the language.
const safe = src.replace(/(?<!<)<(?=[a-z!/])(?!\/?br\b)/gi, '#lt;');
window.mermaid.render('diagram', safe).then(({svg}) => {
  out.innerHTML = svg;
  const el = out.firstElementChild;
  el.removeAttribute('style'); // which keeps it at its natural width
  el.setAttribute('height', '100%');
  el.setAttribute('role', 'img');
}).catch(() => {
  document.getElementById('diagram')?.remove();
  document.getElementById('ddiagram')?.remove();
  document.getElementById('problem').hidden = false;
  const pre = document.createElement('pre');
  pre.textContent = src;
  out.replaceChildren(pre);
});
