// Addresses of the server, which may stand below a path: where the script comes from tells.
const src = document.querySelector('script[src]').getAttribute('src');
export const at = (path) => src.slice(0, src.lastIndexOf('/assets/')) + path;
