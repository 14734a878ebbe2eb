import { foldedName } from '../../lib/folded-name.ts';
import { JsonReader } from '../../lib/json/json-reader.ts';
import { decodeString } from '../../lib/json/json-string.ts';
import type { Splice } from '../operations/operation.ts';

/** The JSON text of a value, exactly as it is sent. */
export type JsonText = string;

/** Parameters of a route as they are configured. Paths are names of members with dots between them, such as `reasoning.effort`. */
export interface Parameters {
  readonly set?: Readonly<Record<string, JsonText>> | undefined;
  readonly default?: Readonly<Record<string, JsonText>> | undefined;
  readonly remove?: readonly string[] | undefined;
  /** Greatest values of numbers. */
  readonly max?: Readonly<Record<string, JsonText>> | undefined;
}

/** Parameters of one member of an object. All values are plain, so that they can be copied between threads. */
export interface MemberParameters {
  readonly name: string;
  readonly foldedName: string;
  readonly set?: JsonText;
  readonly default?: JsonText;
  readonly isRemoved?: boolean;
  readonly max?: JsonText;
  /** Parameters of the members of this member, if it is an object. */
  readonly members: readonly MemberParameters[];
}

/** What parameters change in a body. */
export interface ParameterChanges {
  readonly splices: readonly Splice[];
  /** Paths of the members that were removed, added, and got another value. */
  readonly leftOut: readonly string[];
  readonly added: readonly string[];
  readonly changed: readonly string[];
}

type Writable<Value> = { -readonly [Key in keyof Value]: Value[Key] };
type OpenMember = Writable<Omit<MemberParameters, 'members'>> & { readonly members: OpenMember[] };

/**
 * Combines parameters to those of single members. For a path, later parameters replace all earlier ones: of the same member, of what it
 * contains, and of what contains it.
 */
export function compileParameters(...layers: readonly Parameters[]): readonly MemberParameters[] {
  const byPath = new Map<string, Omit<MemberParameters, 'name' | 'foldedName' | 'members'>>();
  for (const layer of layers) {
    const ofLayer = new Map<string, object>();
    const add = (path: string, action: object): void => {
      ofLayer.set(path, { ...ofLayer.get(path), ...action });
    };
    for (const [path, value] of Object.entries(layer.set ?? {})) add(path, { set: value });
    for (const [path, value] of Object.entries(layer.default ?? {})) add(path, { default: value });
    for (const [path, value] of Object.entries(layer.max ?? {})) add(path, { max: value });
    for (const path of layer.remove ?? []) add(path, { isRemoved: true });
    for (const earlier of byPath.keys())
      if ([...ofLayer.keys()].some((path) => overlap(path, earlier))) byPath.delete(earlier);
    for (const [path, actions] of ofLayer) byPath.set(path, actions);
  }
  const top: OpenMember[] = [];
  for (const [path, actions] of byPath) Object.assign(memberAt(top, path), actions);
  return top;
}

/** Whether two paths are of the same member, or one member contains the other. */
function overlap(one: string, other: string): boolean {
  const others = other.split('.').map(foldedName);
  return one.split('.').every((name, index) => index >= others.length || foldedName(name) === others[index]);
}

function memberAt(top: OpenMember[], path: string): OpenMember {
  let members = top;
  let found!: OpenMember;
  for (const name of path.split('.')) {
    const folded = foldedName(name);
    const known = members.find((member) => member.foldedName === folded);
    found = known ?? { name, foldedName: folded, members: [] };
    if (known === undefined) members.push(found);
    members = found.members;
  }
  return found;
}

/** Names of the top-level members that parameters remove. */
export function removedNames(parameters: readonly MemberParameters[]): string[] {
  return parameters.filter(({ isRemoved }) => isRemoved).map(({ name }) => name);
}

/**
 * Finds the changes of a body; `null` if it stays as it is. Names are compared in folded form, and each repetition of a member is changed,
 * because providers differ in how they read both. Null counts as absent.
 * @param body a valid JSON object
 */
export function parameterChanges(body: Buffer, parameters: readonly MemberParameters[]): ParameterChanges | null {
  const editor = new BodyEditor(body);
  editor.edit(new JsonReader(body), parameters, '');
  return editor.splices.length === 0 ? null : editor;
}

interface FoundMember {
  readonly keyStart: number;
  readonly valueEnd: number;
  readonly isRemoved: boolean;
}

class BodyEditor implements ParameterChanges {
  readonly splices: Splice[] = [];
  readonly leftOut: string[] = [];
  readonly added: string[] = [];
  readonly changed: string[] = [];
  readonly #body: Buffer;

  constructor(body: Buffer) {
    this.#body = body;
  }

  /** Changes the next object. `path` is that of the object, with a dot at its end. */
  edit(reader: JsonReader, parameters: readonly MemberParameters[], path: string): void {
    const found: FoundMember[] = [];
    const present = new Set<MemberParameters>();
    for (reader.enter(); reader.nextMember(); ) {
      const { keyStart, keyEnd } = reader;
      const member = find(parameters, decodeString(this.#body, keyStart, keyEnd));
      const isRemoved = member?.isRemoved === true;
      if (member !== undefined) present.add(member);
      if (isRemoved) this.leftOut.push(path + member!.name);
      else if (member !== undefined) this.#change(reader, member, path + member.name);
      reader.skip();
      found.push({ keyStart: keyStart - 1, valueEnd: reader.offset, isRemoved });
    }
    this.#remove(found);
    const added = parameters.flatMap((member) => {
      const value = present.has(member) ? null : absentValue(member);
      if (value === null) return [];
      this.added.push(path + member.name);
      return [`${JSON.stringify(member.name)}:${value}`];
    });
    if (added.length === 0) return;
    const beforeBrace = reader.offset - 1;
    const comma = found.some(({ isRemoved }) => !isRemoved) ? ',' : '';
    this.splices.push({ start: beforeBrace, end: beforeBrace, text: comma + added.join(',') });
  }

  /** Changes the next value, which stays unread. */
  #change(reader: JsonReader, member: MemberParameters, path: string): void {
    const { kind, offset } = reader;
    if (kind === 'object' && member.set === undefined && member.members.length > 0) {
      this.edit(reader.from(offset), member.members, `${path}.`);
      return;
    }
    const value = kind === 'null' ? absentValue(member) : (member.set ?? setMembers(member));
    if (value !== null) this.#replace(reader, value, path);
    else if (member.max !== undefined && (kind === 'number' || kind === 'string')) {
      const inner = reader.from(offset);
      inner.skip();
      const text =
        kind === 'string'
          ? decodeString(this.#body, offset + 1, inner.offset - 1)
          : this.#body.toString('utf8', offset, inner.offset);
      const asked = Number(text);
      if (asked > Number(member.max)) this.#replace(reader, member.max, path);
    }
  }

  #replace(reader: JsonReader, text: JsonText, path: string): void {
    const start = reader.offset;
    const after = reader.from(start);
    after.skip();
    const end = after.offset;
    if (this.#body.toString('utf8', start, end) === text) return;
    this.splices.push({ start, end, text });
    this.changed.push(path);
  }

  /** Removes members, each with the comma that its neighbor no longer needs. */
  #remove(found: readonly FoundMember[]): void {
    let hasKept = false;
    for (const [index, { keyStart, valueEnd, isRemoved }] of found.entries()) {
      hasKept ||= !isRemoved;
      if (!isRemoved) continue;
      // After a kept member, the comma before goes; otherwise the one after it.
      const start = hasKept ? found[index - 1]!.valueEnd : keyStart;
      const end = hasKept ? valueEnd : (found[index + 1]?.keyStart ?? valueEnd);
      this.splices.push({ start, end, text: '' });
    }
  }
}

function find(parameters: readonly MemberParameters[], name: string): MemberParameters | undefined {
  const folded = foldedName(name);
  return parameters.find((member) => member.foldedName === folded);
}

/** The value of a member that is absent; `null`: it stays absent. */
function absentValue({ set, members, ...member }: MemberParameters): JsonText | null {
  return set ?? member.default ?? objectOf(members);
}

/** The value that replaces one which is no object, because members of it are set; `null`: it stays. */
function setMembers(member: MemberParameters): JsonText | null {
  return setsAny(member) ? objectOf(member.members) : null;
}

function setsAny({ set, members }: MemberParameters): boolean {
  return set !== undefined || members.some(setsAny);
}

function objectOf(members: readonly MemberParameters[]): JsonText | null {
  const written = members.flatMap((member) => {
    const value = absentValue(member);
    return value === null ? [] : [`${JSON.stringify(member.name)}:${value}`];
  });
  return written.length === 0 ? null : `{${written.join(',')}}`;
}
