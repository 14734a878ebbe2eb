import { CHAT_TABLE } from '../../src/protocols/chat/state-references.ts';
import { MESSAGES_TABLE } from '../../src/protocols/messages/state-references.ts';
import type { RequestTable } from '../../src/protocols/request-reader.ts';
import type { Members, Rule } from '../../src/protocols/request-rules.ts';
import { RESPONSES_TABLE } from '../../src/protocols/responses/state-references.ts';
import type { StateKind } from '../../src/protocols/state-references.ts';
import { TOOLS } from '../../src/protocols/tools.ts';

/** Every place in the tables of a protocol where a request can refer to state at a provider. */

export interface StatePlace {
  readonly kind: StateKind;
  /** As error messages name it: `tools[0].environment.container_id`. */
  readonly param: string;
  /** The members of a request that refers to `id` there. */
  readonly body: (id: string) => Readonly<Record<string, unknown>>;
}

const TABLES = { chat: CHAT_TABLE, messages: MESSAGES_TABLE, responses: RESPONSES_TABLE };
export type TableName = keyof typeof TABLES;
export const tableNames = Object.keys(TABLES) as TableName[];

/** @param nesting how deep tools in tools, blocks in blocks, and requests in `extra_body` are followed */
export function statePlaces(name: TableName, nesting: number): StatePlace[] {
  const table = TABLES[name];
  return inMembers(table.top, table, { nesting, what: [] }).map(({ kind, param, value }) => ({
    kind,
    param,
    body: (id) => value(id) as Readonly<Record<string, unknown>>,
  }));
}

interface Within {
  readonly nesting: number;
  readonly what: readonly string[];
}

interface Place {
  readonly kind: StateKind;
  readonly param: string;
  readonly value: (id: string) => unknown;
}

function inMembers({ rules }: Members, table: RequestTable, within: Within): Place[] {
  return Object.entries(rules).flatMap(([name, rule]) =>
    inRule(rule, table, within).map(({ kind, param, value }) => ({
      kind,
      param: param === '' || param.startsWith('[') ? `${name}${param}` : `${name}.${param}`,
      value: (id: string) => ({ [name]: value(id) }),
    })),
  );
}

function inRule(rule: Rule, table: RequestTable, within: Within): Place[] {
  if (rule === 'content' || rule === 'setting' || rule === 'model') return [];
  if (rule === 'more') return repeated('more', within, (inner) => inMembers(table.top, table, inner));
  if (rule === 'tools') return repeated('tools', within, (inner) => inItems(inTools(table, inner)));
  const { text, items, members, readBy, any } = rule;
  if (any !== undefined) return [{ kind: any, param: '', value: (id) => ({ id }) }];
  const found: Place[] = [];
  if (typeof text === 'object') found.push({ kind: text.state, param: '', value: (id) => id });
  if (text === 'link' || text === 'media') found.push({ kind: 'file', param: '', value: (id) => `oss://${id}` });
  if (text === 'prose') found.push({ kind: 'file', param: '', value: (id) => `fileid://${id}` });
  if (members !== undefined) found.push(...inMembers(members, table, within));
  if (readBy !== undefined) {
    found.push(...repeated(readBy, within, (inner) => inMembers(table.readBy[readBy]!.members, table, inner)));
  }
  if (items !== undefined) found.push(...inItems(inRule(items, table, within)));
  return found;
}

/** Two of the client's tools stand for all, because tools can only contain tools. */
const CLIENT_TOOLS = ['custom', 'namespace'];

function inTools(table: RequestTable, within: Within): Place[] {
  const followed = Object.entries(TOOLS).filter(
    ([type, { runs }]) => runs === 'provider' || CLIENT_TOOLS.includes(type),
  );
  return followed.flatMap(([type, { members }]) =>
    inMembers(members, table, within).map(({ kind, param, value }) => ({
      kind,
      param,
      value: (id: string) => ({ type, ...(value(id) as object) }),
    })),
  );
}

function inItems(places: readonly Place[]): Place[] {
  return places.map(({ kind, param, value }) => ({
    kind,
    param: param === '' || param.startsWith('[') ? `[0]${param}` : `[0].${param}`,
    value: (id: string) => [value(id)],
  }));
}

function repeated(what: string, { nesting, what: around }: Within, read: (within: Within) => Place[]): Place[] {
  const times = around.filter((each) => each === what).length;
  return times === nesting ? [] : read({ nesting, what: [...around, what] });
}
