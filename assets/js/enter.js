// From a first message into its chat without a page load: the chat's page is fetched, and its
// content takes the place of what is shown. Loaded when a first message is sent.
const $ = (id) => document.getElementById(id);

// enter shows the page at an address, and tells screen readers with say.
export const enter = async (url, say) => {
  const res = await fetch(url);
  if (!res.ok) throw new Error(res.status);
  const page = new DOMParser().parseFromString(await res.text(), 'text/html');
  for (const n of page.querySelectorAll('noscript')) n.remove(); // the parser takes it that there is no script
  const app = document.querySelector('.app'), {className} = page.querySelector('.app');
  const {value, selectionStart, selectionEnd} = $('q');
  document.querySelector('dialog.sheet')?.close(); // the side bar in it is of the page before
  history.pushState(null, '', url);
  document.title = page.title;
  app.className = className;
  app.replaceChildren(...page.querySelector('.app').children);
  window.htmx.process(app);
  $('q').value = value;
  document.dispatchEvent(new Event('fawn:page'));
  $('q').setSelectionRange(selectionStart, selectionEnd);
  say($('turns').hasAttribute('data-running') ? $('words').dataset.liveRunning : document.title);
};
