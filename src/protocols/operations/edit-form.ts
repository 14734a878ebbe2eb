import { invalidRequest } from '../../errors/gateway-error.ts';
import { IMAGE_HEAD_BYTES_MAX, readImageHead } from '../../lib/image-head.ts';
import { MultipartParser, MultipartSyntaxError, type PartHead } from '../../lib/multipart.ts';
import { refuseAliasPart } from '../image-rules/aliases.ts';
import {
  EDIT_IMAGES_MAX,
  type EditForm,
  type FormFile,
  partKind,
  readListedCount,
  requireOtherName,
  requirePlainText,
  TEXT_PART_BYTES_MAX,
  tooManyImages,
} from '../image-rules/edit.ts';
import type { Digest, ModelPlace } from './operation.ts';

/** Where the provider's name of the model is inserted, without quotes. */
export type FormModelPlace = Omit<ModelPlace, 'isNamed'>;

interface OpenPart {
  readonly head: PartHead;
  readonly kind: ReturnType<typeof partKind>;
  sizeBytes: number;
  /** Bytes of a part that are kept: all of a text, the first ones of a file. */
  readonly kept: Buffer[];
  keptBytes: number;
}

/** Reads the form of an image edit while it arrives. Keeps text parts and the first bytes of each image. */
export class EditFormReader {
  readonly #boundary: string;
  readonly #digest: Digest | null;
  readonly #parser: MultipartParser;
  readonly #texts = new Map<string, Buffer>();
  readonly #images: FormFile[] = [];
  #mask: FormFile | null = null;
  #listedCount = 1;
  #open: OpenPart | null = null;
  #modelPlace: FormModelPlace | null = null;

  /** @param digest receives the content of all parts, but not the boundary, which is random */
  constructor(boundary: string, digest: Digest | null = null) {
    this.#boundary = boundary;
    this.#digest = digest;
    this.#parser = new MultipartParser(boundary, {
      partBegin: (head) => this.#begin(head),
      partData: (bytes) => this.#take(bytes),
      partEnd: (contentEnd) => this.#end(contentEnd),
    });
  }

  /** Reads the next chunk. @throws GatewayError `invalidRequest` */
  push(chunk: Buffer): void {
    this.#parse(() => this.#parser.push(chunk));
  }

  /** Returns the whole form. @throws GatewayError `invalidRequest` if it is not complete */
  finish(): { form: EditForm; modelPlace: FormModelPlace; listedCount: number } {
    this.#parse(() => this.#parser.end());
    const first = this.#parser.firstBoundaryStart!;
    const modelPart = `--${this.#boundary}\r\nContent-Disposition: form-data; name="model"\r\n\r\n`;
    return {
      form: { texts: this.#texts, images: this.#images, mask: this.#mask },
      modelPlace: this.#modelPlace ?? { start: first, end: first, before: modelPart, after: '\r\n' },
      listedCount: this.#listedCount,
    };
  }

  #parse(step: () => void): void {
    try {
      step();
    } catch (error) {
      if (!(error instanceof MultipartSyntaxError)) throw error;
      throw invalidRequest(`The body is not a valid form: ${error.message} (at byte ${error.offset}).`);
    }
  }

  #begin(head: PartHead): void {
    const kind = partKind(head.name);
    if (kind === 'other') {
      requireOtherName(head.name);
      refuseAliasPart(head.name);
    }
    if (kind === 'text' || kind === 'listedCount') requirePlainText(head);
    if (this.#texts.has(head.name) || (kind === 'mask' && this.#mask !== null)) {
      throw invalidRequest(`The part "${head.name}" appears more than once.`, head.name);
    }
    if (kind === 'image' && this.#images.length >= EDIT_IMAGES_MAX) throw tooManyImages();
    this.#open = { head, kind, sizeBytes: 0, kept: [], keptBytes: 0 };
    this.#digest?.add(`\n${JSON.stringify([head.name, head.filename, head.contentType, ...head.headers])}\n`);
  }

  #take(bytes: Buffer): void {
    const part = this.#open!;
    part.sizeBytes += bytes.length;
    this.#digest?.add(bytes);
    if (part.kind === 'other') return;
    if (part.kind === 'text' && part.sizeBytes > TEXT_PART_BYTES_MAX) {
      const { name } = part.head;
      throw invalidRequest(`The parameter "${name}" is longer than ${TEXT_PART_BYTES_MAX} bytes.`, name);
    }
    const keptBytesMax = part.kind === 'text' ? TEXT_PART_BYTES_MAX : IMAGE_HEAD_BYTES_MAX;
    const wanted = bytes.subarray(0, keptBytesMax - part.keptBytes);
    if (wanted.length === 0) return;
    // Copied, so that the much larger chunk can be freed.
    part.kept.push(Buffer.from(wanted));
    part.keptBytes += wanted.length;
  }

  #end(contentEnd: number): void {
    const { head, kind, sizeBytes, kept } = this.#open!;
    this.#open = null;
    // The size after each part makes the digested text unambiguous.
    this.#digest?.add(`\n${sizeBytes}`);
    if (kind === 'other') return;
    const bytes = Buffer.concat(kept);
    if (kind === 'listedCount') {
      this.#listedCount = Math.max(this.#listedCount, readListedCount(bytes));
      return;
    }
    if (kind === 'text') {
      this.#texts.set(head.name, bytes);
      if (head.name === 'model') {
        this.#modelPlace = { start: head.contentStart, end: contentEnd, before: '', after: '' };
      }
      return;
    }
    const file = { sizeBytes, ...readImageHead(bytes) };
    if (kind === 'mask') this.#mask = file;
    else this.#images.push(file);
  }
}
