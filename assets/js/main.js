// The one script of the pages. Everything works without it; it makes things
// faster and live.
import './vendor/htmx.js';
import * as live from './live.js';
import * as scroll from './scroll.js';
import * as compose from './compose.js';
import * as pick from './pick.js';
import * as panel from './panel.js';
import * as ui from './ui.js';
import * as keys from './keys.js';
import * as news from './news.js';

const start = () => {
  ui.start();
  scroll.start();
  compose.start();
  pick.start();
  panel.start();
  keys.start();
  live.start();
  news.start();
};
if (document.readyState === 'loading') addEventListener('DOMContentLoaded', start);
else start();
