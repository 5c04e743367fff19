// The script of pages for readers of a link, who have no more to do than to copy.
import {copy} from './copy.js';

document.addEventListener('click', (e) => {
  const t = e.target.closest('[data-copy]');
  if (t && !e.ctrlKey && !e.metaKey) { e.preventDefault(); copy(t); }
});
