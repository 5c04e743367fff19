// The one script of the pages. Everything works without it; it makes things
// faster and live.
import './vendor/htmx.js';
import {later, on} from './dom.js';
import * as live from './live.js';
import * as scroll from './scroll.js';
import * as compose from './compose.js';
import * as pick from './pick.js';
import * as panel from './panel.js';
import * as ui from './ui.js';
import * as keys from './keys.js';
import * as visibility from './visibility.js';

// What belongs to the content of a page, which changes when a chat is entered in place.
const page = () => {
  scroll.start();
  compose.bind();
  pick.start();
  panel.start();
  live.start();
  if (document.querySelector('[data-here]')) later('stay').then((m) => m.start(), () => {});
};

// Back and Forward between a page and one that was entered in place are page loads.
let shown = location.pathname;
const moved = () => { if (location.pathname !== shown) location.replace(location.pathname + location.search); };

const start = () => {
  ui.start();
  compose.start();
  keys.start();
  page();
  visibility.start();
  on(document, 'fawn:page', () => { shown = location.pathname; page(); panel.enter(); });
  on(window, 'popstate', moved);
};
if (document.readyState === 'loading') addEventListener('DOMContentLoaded', start);
else start();
