import assert from 'node:assert/strict';
import type { Locator, Page } from 'playwright-core';

/** The time of a practised person, estimated with the keystroke-level model (Card, Moran and Newell, 1980). */

/**
 * Seconds: a key, pointing, pressing and releasing, a hand between mouse and keyboard, and the decision before a command. On a phone,
 * people type 36 words a minute (Palin et al., 2019), and no hand moves.
 */
const SECONDS = {
  desktop: { key: 0.28, point: 1.1, press: 0.2, hand: 0.4, decide: 1.35 },
  phone: { key: 0.33, point: 1.1, press: 0.2, hand: 0, decide: 1.35 },
};
export type Device = keyof typeof SECONDS;
/** What the first steps of an operator may take. */
export const SECONDS_MAX = 180;
export const WIDTHS_PX: Readonly<Record<Device, number>> = { desktop: 1280, phone: 390 };

/** A person at the page, whose clicks and keys are counted. */
export class PractisedPerson {
  clicks = 0;
  keys = 0;
  seconds = 0;
  readonly #page: Page;
  readonly #device: Device;
  readonly #menuName: string;

  constructor(page: Page, device: Device, menuName: string) {
    this.#page = page;
    this.#device = device;
    this.#menuName = menuName;
  }

  get summary(): string {
    return `${this.clicks} clicks, ${this.keys} keystrokes, about ${Math.round(this.seconds)} s of a person's time`;
  }

  /** Decides on a command, such as a button, and clicks it. */
  async command(target: Locator): Promise<void> {
    this.#take('decide');
    await this.#click(target);
  }

  async menu(name: string): Promise<void> {
    if (this.#device === 'phone') {
      await this.command(this.#page.getByRole('button', { name: this.#menuName, exact: true }));
    }
    await this.command(this.#page.getByRole('navigation').getByRole('link', { name, exact: true }));
  }

  /** Clicks the first field of a form and types into it, and then into those that follow. */
  async type(...fields: readonly (readonly [Locator, string])[]): Promise<void> {
    this.#take('hand', 2);
    for (const [index, [field, text]] of fields.entries()) {
      await (index === 0 || this.#device === 'phone' ? this.#click(field) : this.#tabTo(field));
      await field.fill(text);
      this.#press(text.length);
    }
  }

  async #tabTo(field: Locator): Promise<void> {
    const isThere = () => field.evaluate((element) => element === element.ownerDocument.activeElement);
    for (let tabs = 0; tabs < 6 && !(await isThere()); tabs++) {
      await this.#page.keyboard.press('Tab');
      this.#press(1);
    }
    assert.ok(await isThere(), 'Tab does not lead to the next field');
  }

  /** Opens a list and clicks one of its options. */
  async choose(list: Locator, option: { readonly label: string } | string): Promise<void> {
    await this.#click(list);
    await list.selectOption(option);
    this.#countClick();
  }

  async option(list: Locator, name: string): Promise<void> {
    await this.#click(list);
    await this.#click(this.#page.getByRole('option', { name, exact: true }));
    await this.#page.keyboard.press('Escape');
    this.#press(1);
  }

  async #click(target: Locator): Promise<void> {
    await target.click();
    this.#countClick();
  }

  #countClick(): void {
    this.clicks++;
    this.#take('point');
    this.#take('press');
  }

  #press(keys: number): void {
    this.keys += keys;
    this.#take('key', keys);
  }

  #take(action: keyof (typeof SECONDS)[Device], times = 1): void {
    this.seconds += times * SECONDS[this.#device][action];
  }
}
