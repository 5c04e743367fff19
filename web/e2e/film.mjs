// A film of a page: an animated PNG, which browsers and README viewers play like a picture.
import { writeFileSync } from 'node:fs';
import UPNG from 'upng-js';

const colours = 128; // of each frame; pages have few

export class Film {
  #page; #frames = []; #times = [];

  constructor(page) { this.#page = page; }

  // frame takes what the page shows now. It is seen for ms milliseconds; a frame that equals
  // the one before makes that last longer.
  async frame(ms) {
    const png = await this.#page.screenshot();
    const last = this.#frames.at(-1);
    if (last?.equals(png)) {
      this.#times[this.#times.length - 1] += ms;
      return;
    }
    this.#frames.push(png);
    this.#times.push(ms);
  }

  // until takes frames for as long as something is under way.
  async until(promise, ms) {
    let over = false;
    const done = promise.finally(() => { over = true; });
    while (!over) await this.frame(ms);
    await done;
  }

  // save writes the film and returns its size in bytes.
  save(path) {
    const images = this.#frames.map((png) => UPNG.decode(png));
    const pixels = images.map((i) => UPNG.toRGBA8(i)[0]);
    const film = Buffer.from(UPNG.encode(pixels, images[0].width, images[0].height, colours, this.#times));
    writeFileSync(path, film);
    return film.length;
  }
}
