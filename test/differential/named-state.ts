import { foldedName } from '../../src/lib/folded-name.ts';
import type { RequestTable } from '../../src/protocols/request-reader.ts';
import type { Form, Members, Rule, TextRule } from '../../src/protocols/request-rules.ts';
import { CONTENT_OF_TYPE } from '../../src/protocols/responses/state-references.ts';
import { CLIENT_MARKS, TOOLS, toolFamily } from '../../src/protocols/tools.ts';

/**
 * A second, simple implementation of reading references to provider state: by the same tables, from values decoded by another parser. The
 * gateway must find everything that is found here. Names and values that are recognized only by their form are omitted.
 */
export interface Named {
  readonly ids: Set<string>;
  readonly models: Set<string>;
  /** Tools and tool members that are not in the tables. */
  readonly unlisted: Set<string>;
}

export function namedIn(value: unknown, table: RequestTable): Named {
  const named: Named = { ids: new Set(), models: new Set(), unlisted: new Set() };
  if (isObject(value)) new Reader(table, named).members(table.top, value, false);
  return named;
}

type Fields = Readonly<Record<string, unknown>>;

class Reader {
  readonly #table: RequestTable;
  readonly #named: Named;

  constructor(table: RequestTable, named: Named) {
    this.#table = table;
    this.#named = named;
  }

  /** `isProviders`: the members belong to a tool that the provider runs. */
  members({ rules, others }: Members, fields: Fields, isProviders: boolean): void {
    for (const [name, value] of Object.entries(fields)) {
      if (value === null) continue;
      if (Object.hasOwn(rules, name)) this.#value(rules[name]!, value, isProviders);
      else if (typeof others === 'object') this.#value(others.each, value, isProviders);
      else if (others === 'unknown' && isProviders && !isContent(rules, name)) this.#named.unlisted.add(name);
    }
  }

  #value(rule: Rule, value: unknown, isProviders: boolean): void {
    if (value === null || rule === 'content') return;
    if (rule === 'setting') {
      const isSetting = Array.isArray(value) ? !value.some(isNested) : !isNested(value);
      if (!isSetting && isProviders) this.#named.unlisted.add('setting');
    } else if (rule === 'model') {
      // Neither names a model: a LiteLLM fallback may apply to any model.
      if (typeof value === 'string' && value !== '' && value !== '*') this.#named.models.add(value);
    } else if (rule === 'tools') {
      this.#tools(value);
    } else if (rule === 'more') {
      if (isObject(value)) this.members(this.#table.top, value, isProviders);
    } else {
      this.#form(rule, value, isProviders);
    }
  }

  #form({ text, items, members, readBy, any }: Form, value: unknown, isProviders: boolean): void {
    if (any !== undefined) {
      this.#named.ids.add('');
    } else if (Array.isArray(value)) {
      if (items !== undefined) for (const item of value) this.#value(items, item, isProviders);
    } else if (isObject(value)) {
      if (readBy === 'skill' && value.type === 'anthropic') return;
      if (readBy === 'item') this.#item(value);
      if (readBy !== undefined) this.members(this.#table.readBy[readBy]!.members, value, isProviders);
      else if (members !== undefined) this.members(members, value, isProviders);
    } else if (typeof value === 'string' && text !== undefined) {
      this.#text(text, value);
    }
  }

  #text(rule: TextRule, text: string): void {
    if (typeof rule !== 'object') return;
    if (text !== '' && !rule.except?.includes(text)) this.#named.ids.add(text);
  }

  /** An item that the vendor looks up, whatever its other members. */
  #item({ type, id }: Fields): void {
    const needed = typeof type === 'string' ? CONTENT_OF_TYPE.get(type) : undefined;
    if (Array.isArray(needed) && needed.length === 0 && typeof id === 'string' && id !== '') this.#named.ids.add(id);
  }

  #tools(value: unknown): void {
    if (Array.isArray(value)) {
      for (const each of value) this.#tools(each);
    } else if (typeof value === 'string') {
      this.#named.unlisted.add(value);
    } else if (isObject(value)) {
      const { type = null } = value;
      if (type === null && CLIENT_MARKS.some((name) => (value[name] ?? null) !== null)) {
        this.members(TOOLS.custom!.members, value, false);
        return;
      }
      const family = typeof type !== 'string' ? '' : Object.hasOwn(TOOLS, type) ? type : toolFamily(type);
      if (Object.hasOwn(TOOLS, family)) {
        const { runs, members } = TOOLS[family]!;
        this.members(members, value, runs === 'provider');
      } else if (Object.keys(value).length > 0) {
        this.#named.unlisted.add(String(type));
      }
    }
  }
}

/** Whether the name is another spelling of a member that is not inspected. */
function isContent(rules: Members['rules'], name: string): boolean {
  const own = Object.keys(rules).find((each) => foldedName(each) === foldedName(name));
  return own !== undefined && (rules[own] === 'content' || rules[own] === 'model');
}

function isObject(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isNested(value: unknown): boolean {
  return typeof value === 'object' && value !== null;
}
