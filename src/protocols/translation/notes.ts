import { invalidRequest } from '../../errors/gateway-error.ts';

/** What a translation left out and added, by the names of members. */
export class TranslationNotes {
  readonly #target: string;
  readonly #leftOut = new Set<string>();
  readonly #added = new Set<string>();

  /** @param target protocol of the provider, such as `chat` */
  constructor(target: string) {
    this.#target = target;
  }

  /** Lists an optional member. Only tools keep their index: a member of every message is one entry. */
  leaveOut(path: string): void {
    this.#leftOut.add(path.startsWith('tools') ? path : path.replace(INDEXES, '[]'));
  }

  add(name: string): void {
    this.#added.add(name);
  }

  get leftOut(): readonly string[] {
    return [...this.#leftOut];
  }

  get added(): readonly string[] {
    return [...this.#added];
  }

  /**
   * Refuses a request that the provider's protocol cannot express.
   * @param reason a sentence without its subject, such as `refers to a file by its id`
   * @throws GatewayError `invalidRequest`
   */
  refuse(path: string, reason: string): never {
    throw invalidRequest(
      `The field "${path}" ${reason}. This model is served by translation to the protocol "${this.#target}", which cannot express this.`,
      path,
    );
  }
}

const INDEXES = /\[\d+\]/g;
