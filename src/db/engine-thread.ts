import { MessageChannel, type MessagePort, Worker } from 'node:worker_threads';
import { moduleFile } from '../lib/files/module-file.ts';
import type { FilesModule, Notification, Order, Response, ThreadOptions } from './embedded-messages.ts';

const THREAD = moduleFile('./embedded-thread', import.meta.url);

/** The thread's garbage is gone with each message: room for more of it is memory of an idle process, and saves no time. */
const YOUNG_MIB = 6;

/** Hears of a thread for as long as it uses it. */
export interface ThreadUser {
  receive(message: Response | Notification): void;
  /** The thread has thrown what nobody caught, and will end. */
  failed(error: unknown): void;
  ended(code: number): void;
}

/** A thread whose engine was closed in good order, for the next database of this process. */
let spare: EngineThread | null = null;

/**
 * The thread that an embedded engine works in. It loads the engine's code, and V8 compiles it, which takes as long as to
 * start the engine; and V8 may abort the process while it frees compiled code of WebAssembly at the end of a thread
 * (`docs/decisions/0069`). So a process that opens one database after the other, as tests do, has them in one thread.
 *
 * It never keeps the process running, except between `ref` and `unref`.
 */
export class EngineThread {
  readonly #worker: Worker;
  readonly #port: MessagePort;
  readonly #isUsual: boolean;
  #user: ThreadUser | null = null;

  private constructor(files: FilesModule | undefined) {
    const { port1, port2 } = new MessageChannel();
    this.#port = port1;
    this.#isUsual = files === undefined;
    const workerData: ThreadOptions = { port: port2, files: files && { url: files.url, data: files.data } };
    this.#worker = new Worker(THREAD, {
      name: 'embedded database',
      workerData,
      resourceLimits: { maxYoungGenerationSizeMb: YOUNG_MIB },
      transferList: [port2, ...(files?.moved ?? [])],
    });
    this.#worker.unref();
    this.#worker.on('error', (error) => this.#user?.failed(error));
    this.#worker.on('exit', (code) => {
      if (spare === this) spare = null;
      this.#user?.ended(code);
    });
    this.#port.on('message', (message: Response | Notification) => this.#user?.receive(message));
    this.#port.unref();
  }

  /** The spare one, or one that starts now. @param files for tests: a thread of its own, where the engine's files come from */
  static take(user: ThreadUser, files?: FilesModule): EngineThread {
    const thread = files === undefined && spare !== null ? spare : new EngineThread(files);
    if (thread === spare) spare = null;
    thread.#user = user;
    return thread;
  }

  /** Gives it back after its engine was closed: it becomes the spare one, or ends if there is one. */
  async giveBack(): Promise<void> {
    if (!this.#isUsual || spare !== null) return this.terminate();
    this.#user = null;
    spare = this;
  }

  /** Ends it, whatever it does. */
  async terminate(): Promise<void> {
    await this.#worker.terminate();
  }

  send(order: Order): void {
    this.#port.postMessage(order);
  }

  ref(): void {
    // Not the port: it would let the process go when the thread ends, before anybody has heard of that.
    this.#worker.ref();
  }

  unref(): void {
    this.#worker.unref();
  }
}
