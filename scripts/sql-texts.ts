import { readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { MARKS } from './sql-tables.ts';
import {
  children,
  FUNCTIONS,
  isNode,
  type Node,
  nameOf,
  namesOfPattern,
  parse,
  placeOf,
  propertiesOf,
  returnsOf,
  unwrapped,
} from './syntax-tree.ts';

/**
 * The string literals of source files, with interpolations resolved: `${…}` is followed to constants, functions and column descriptions,
 * across files. Parameters are resolved at each call. A text with alternatives contains all of them (`MARKS`), so readers find too much
 * rather than too little.
 */

/** The value of a name: an expression and its scope. `null`: only known at run time. */
type Value = { readonly node: Node; readonly scope: Scope } | null;

interface Scope {
  readonly module: Module;
  /** Parameters. */
  readonly names: ReadonlyMap<string, Value>;
}

interface Module {
  readonly file: string;
  readonly text: string;
  readonly program: Node;
  /** All constants and functions of all blocks, by name. */
  readonly declared: Map<string, Node[]>;
  readonly imported: Map<string, { readonly from: string; readonly name: string }>;
}

/** A text with its interpolations. */
export interface FoundText {
  /** For example `src/db/migrate.ts:12`, with the caller if there is one. */
  readonly place: string;
  readonly text: string;
}

/** Maximum length of a chain of references. */
const DEPTH_MAX = 12;
const SQL = /\b(from|join|into|update|using|table)\s*$|\b(from|join|insert into|update|delete from|lock table)\s+\w/;
export class SourceTexts {
  readonly #modules = new Map<string, Module | null>();
  /** Members that classes assign: `this.unnest = …`. */
  readonly #members = new Map<string, Value>();
  readonly #called = new Set<string>();
  /** Resolved texts of constants and functions. */
  readonly #known = new Map<Node, string>();
  readonly #withSql = new Map<Node, boolean>();

  /** The texts of files. Texts in functions appear once more for each call with different arguments. */
  of(files: readonly string[]): FoundText[] {
    const modules = files.map((file) => this.#module(file)).filter((module) => module !== null);
    for (const module of modules) this.#noteMembers(module);
    const found: FoundText[] = [];
    for (const module of modules) this.#walk(module.program, { module, names: new Map() }, '', found, 0);
    return found;
  }

  #module(file: string): Module | null {
    const path = normalize(file);
    const known = this.#modules.get(path);
    if (known !== undefined) return known;
    const text = readSource(path);
    if (text === null) {
      this.#modules.set(path, null);
      return null;
    }
    const module: Module = { file: path, text, program: parse(path, text), declared: new Map(), imported: new Map() };
    this.#modules.set(path, module);
    declare(module.program, module);
    return module;
  }

  #noteMembers(module: Module): void {
    const visit = (node: Node): void => {
      const left = node.type === 'AssignmentExpression' ? (node.left as Node) : null;
      if (left?.type === 'MemberExpression' && (left.object as Node).type === 'ThisExpression') {
        const right = node.right as Node;
        if (right.type === 'TemplateLiteral') {
          this.#members.set(nameOf(left.property as Node), { node: right, scope: { module, names: new Map() } });
        }
      }
      children(node).forEach(visit);
    };
    visit(module.program);
  }

  /** Finds the outermost texts below a node, and those of called functions. */
  #walk(node: Node, scope: Scope, via: string, found: FoundText[], depth: number): void {
    if (node.type.startsWith('Import') || node.type.startsWith('TS')) {
      const inner = node.expression;
      if (isNode(inner)) this.#walk(inner, scope, via, found, depth);
      return;
    }
    if (isText(node)) {
      const place = placeOf(scope.module.file, scope.module.text, node);
      found.push({ place: `${place}${via}`, text: this.#text(node, scope, 0) });
    }
    if (node.type === 'CallExpression') this.#enter(node, scope, via, found, depth);
    const inner = FUNCTIONS.has(node.type) ? hiding(scope, node) : scope;
    for (const child of children(node)) this.#walk(child, inner, via, found, depth);
  }

  /** The texts of a function for one call. */
  #enter(call: Node, scope: Scope, via: string, found: FoundText[], depth: number): void {
    if (depth > 4) return;
    const callee = this.#functionOf(call.callee as Node, scope);
    if (callee === null || !this.#hasSql(callee.node, callee.scope.module)) return;
    const given = (call.arguments as Node[]).map((argument) => this.#text(argument, scope, 0)).join(MARKS.or);
    // Without known arguments, the call adds nothing to the function itself.
    if (![...given].some((character) => !Object.values<string>(MARKS).includes(character))) return;
    const key = `${callee.scope.module.file} ${callee.node.start} ${given}`;
    if (this.#called.has(key)) return;
    this.#called.add(key);
    const place = placeOf(scope.module.file, scope.module.text, call);
    const bound = bind(callee.node, call.arguments as Node[], callee.scope, scope);
    this.#walk(callee.node.body as Node, bound, `${via}, called at ${place}`, found, depth + 1);
  }

  /** The text of an expression, with alternatives. */
  #text(node: Node, scope: Scope, depth: number): string {
    if (depth > DEPTH_MAX) return MARKS.unknown;
    const at = (inner: unknown): string => this.#text(inner as Node, scope, depth);
    switch (node.type) {
      case 'Literal':
        return typeof node.value === 'string' || typeof node.value === 'number' ? unmarked(String(node.value)) : '';
      case 'Known':
        return node.text as string;
      case 'TemplateLiteral': {
        const parts = (node.quasis as { value: { cooked: string } }[]).map(({ value }) => unmarked(value.cooked));
        return parts
          .map((part, i) => part + (i < parts.length - 1 ? at((node.expressions as Node[])[i]) : ''))
          .join('');
      }
      case 'BinaryExpression':
        return node.operator === '+' ? at(node.left) + at(node.right) : '';
      case 'Identifier':
        return this.#named(node.name as string, scope, depth);
      case 'MemberExpression':
        return this.#member(node, scope, depth);
      case 'CallExpression':
        return this.#call(node, scope, depth);
      case 'ArrowFunctionExpression':
      case 'FunctionExpression':
      case 'FunctionDeclaration':
        return this.#returned(node, hiding(scope, node), depth);
      case 'ThisExpression':
        return MARKS.unknown;
      case 'Property':
        return at(node.value);
      case 'ConditionalExpression':
        return oneOf([at(node.consequent), at(node.alternate)]);
      default:
        return oneOf(children(node).map(at));
    }
  }

  #named(name: string, scope: Scope, depth: number): string {
    const value = scope.names.get(name);
    if (value === null) return MARKS.unknown;
    if (value !== undefined) return this.#text(value.node, value.scope, depth + 1);
    const found = this.#declaredAs(name, scope.module);
    if (found.length === 0) return MARKS.unknown;
    return oneOf(found.map(({ node, scope: own }) => this.#constant(node, own, depth)));
  }

  #constant(node: Node, scope: Scope, depth: number): string {
    const known = this.#known.get(node);
    if (known !== undefined) return known;
    // A recursive definition cannot be resolved.
    this.#known.set(node, MARKS.unknown);
    const text = this.#text(node, scope, depth + 1);
    this.#known.set(node, text);
    return text;
  }

  /** Whether a function contains SQL, or calls a function of its module that does. */
  #hasSql(node: Node, module: Module): boolean {
    const known = this.#withSql.get(node);
    if (known !== undefined) return known;
    this.#withSql.set(node, false);
    const has = (each: Node): boolean => {
      if (each.type === 'TemplateElement') return SQL.test((each.value as { cooked: string }).cooked);
      if (each.type === 'Literal') return typeof each.value === 'string' && SQL.test(each.value);
      if (each.type === 'CallExpression' && (each.callee as Node).type === 'Identifier') {
        const called = module.declared.get(nameOf(each.callee as Node)) ?? [];
        if (called.some((one) => FUNCTIONS.has(one.type) && this.#hasSql(one, module))) return true;
      }
      return children(each).some(has);
    };
    const found = has(node);
    this.#withSql.set(node, found);
    return found;
  }

  /** Constants and functions of a module, or of the module that it imports them from. */
  #declaredAs(name: string, module: Module): { readonly node: Node; readonly scope: Scope }[] {
    const declared = module.declared.get(name);
    if (declared !== undefined) return declared.map((node) => ({ node, scope: { module, names: new Map() } }));
    const imported = module.imported.get(name);
    if (imported === undefined || !imported.from.startsWith('.')) return [];
    const other = this.#module(join(dirname(module.file), imported.from));
    return other === null ? [] : this.#declaredAs(imported.name, other);
  }

  #member(node: Node, scope: Scope, depth: number): string {
    const object = node.object as Node;
    if (!node.computed) {
      const name = nameOf(node.property as Node);
      const member = this.#members.get(name);
      if (member != null) return this.#text(member.node, member.scope, depth + 1);
      const property = this.#propertyOf(object, name, scope);
      if (property !== null) return this.#text(property.node, property.scope, depth + 1);
    }
    return this.#text(object, scope, depth);
  }

  /** A property of an object literal. */
  #propertyOf(object: Node, name: string, scope: Scope): { readonly node: Node; readonly scope: Scope } | null {
    const held = this.#objectOf(object, scope);
    if (held === null) return null;
    const property = propertiesOf(held.node).find((each) => nameOf(each.key as Node) === name);
    return property === undefined ? null : { node: property.value as Node, scope: held.scope };
  }

  #objectOf(node: Node, scope: Scope): { readonly node: Node; readonly scope: Scope } | null {
    const plain = unwrapped(node);
    if (plain.type === 'ObjectExpression') return { node: plain, scope };
    if (plain.type !== 'Identifier') return null;
    const name = plain.name as string;
    const value = scope.names.get(name);
    if (value === null) return null;
    if (value !== undefined) return this.#objectOf(value.node, value.scope);
    const [found] = this.#declaredAs(name, scope.module);
    return found === undefined || unwrapped(found.node).type === 'Identifier'
      ? null
      : this.#objectOf(found.node, found.scope);
  }

  #call(node: Node, scope: Scope, depth: number): string {
    const callee = node.callee as Node;
    const given = node.arguments as Node[];
    const called = this.#functionOf(callee, scope);
    // Other functions do not add tables to their texts, except when they build a table name from parts.
    const isTemplate = called !== null && (called.node.body as Node | null)?.type === 'TemplateLiteral';
    if (called !== null && (isTemplate || this.#hasSql(called.node, called.scope.module))) {
      const bound = bind(called.node, given, called.scope, scope);
      return this.#returned(called.node, bound, depth + 1);
    }
    if (callee.type !== 'MemberExpression') return oneOf(given.map((each) => this.#text(each, scope, depth)));
    const object = callee.object as Node;
    if (object.type === 'Identifier' && object.name === 'Object' && given[0] !== undefined) {
      const held = this.#objectOf(given[0], scope);
      const names = held === null ? [] : propertiesOf(held.node).map(({ key }) => nameOf(key as Node));
      return oneOf([...names, this.#text(given[0], scope, depth)]);
    }
    const items = this.#text(object, scope, depth);
    const texts = given.map((each) => {
      const made = unwrapped(each);
      // A callback receives the items of the list.
      if (FUNCTIONS.has(made.type)) return this.#returned(made, holding(scope, made, items), depth);
      const [named] = made.type === 'Identifier' ? this.#declaredAs(made.name as string, scope.module) : [];
      if (named !== undefined && FUNCTIONS.has(named.node.type)) {
        return this.#returned(named.node, holding(named.scope, named.node, items), depth + 1);
      }
      return this.#text(each, scope, depth);
    });
    return oneOf([items, ...texts]);
  }

  #functionOf(callee: Node, scope: Scope): { readonly node: Node; readonly scope: Scope } | null {
    if (callee.type !== 'Identifier' || scope.names.has(callee.name as string)) return null;
    const [found] = this.#declaredAs(callee.name as string, scope.module);
    return found !== undefined && FUNCTIONS.has(found.node.type) ? found : null;
  }

  /** The text that a function may return. */
  #returned(node: Node, scope: Scope, depth: number): string {
    const body = node.body as Node | null;
    if (body === null) return MARKS.unknown;
    if (body.type !== 'BlockStatement') return this.#text(body, scope, depth);
    return oneOf(returnsOf(body).map((each) => this.#text(each, scope, depth)));
  }
}

/** A known text as an expression. */
const known = (text: string): Node => ({ type: 'Known', start: 0, text });

/** Parameters that are unknown without a call. */
function hiding(scope: Scope, node: Node): Scope {
  const names = new Map(scope.names);
  for (const name of (node.params as Node[]).flatMap(namesOfPattern)) names.set(name, null);
  return { module: scope.module, names };
}

/** Parameters of a callback: the items of a list. */
function holding(scope: Scope, node: Node, items: string): Scope {
  const names = new Map(scope.names);
  const value = { node: known(items), scope };
  for (const name of (node.params as Node[]).flatMap(namesOfPattern)) names.set(name, value);
  return { module: scope.module, names };
}

/** The parameters of a function for one call. */
function bind(node: Node, given: readonly Node[], own: Scope, from: Scope): Scope {
  const names = new Map(own.names);
  for (const [i, parameter] of (node.params as Node[]).entries()) {
    const argument = given[i];
    const pattern = parameter.type === 'AssignmentPattern' ? (parameter.left as Node) : parameter;
    for (const name of namesOfPattern(parameter)) names.set(name, null);
    const value = argument ?? (parameter.type === 'AssignmentPattern' ? (parameter.right as Node) : undefined);
    if (value === undefined) continue;
    const scope = argument === undefined ? own : from;
    if (pattern.type === 'Identifier') names.set(pattern.name as string, { node: value, scope });
    else if (pattern.type === 'ObjectPattern') bindProperties(pattern, unwrapped(value), scope, own, names);
  }
  return { module: own.module, names };
}

function bindProperties(pattern: Node, value: Node, from: Scope, own: Scope, names: Map<string, Value>): void {
  for (const property of pattern.properties as Node[]) {
    if (property.type !== 'Property') continue;
    const target = property.value as Node;
    const standard = target.type === 'AssignmentPattern' ? (target.right as Node) : null;
    const local = target.type === 'AssignmentPattern' ? (target.left as Node) : target;
    if (local.type !== 'Identifier') continue;
    const given = propertiesOf(value).find((each) => nameOf(each.key as Node) === nameOf(property.key as Node));
    if (given !== undefined) names.set(local.name as string, { node: given.value as Node, scope: from });
    else if (standard !== null && value.type === 'ObjectExpression') {
      names.set(local.name as string, { node: standard, scope: own });
    }
  }
}

/** Collects the declarations and imports of a module. */
function declare(node: Node, module: Module): void {
  const add = (name: string, value: Node): void => {
    module.declared.set(name, [...(module.declared.get(name) ?? []), value]);
  };
  if (node.type === 'ImportDeclaration') {
    for (const each of node.specifiers as Node[]) {
      if (each.type !== 'ImportSpecifier') continue;
      const from = (node.source as Node).value as string;
      module.imported.set(nameOf(each.local as Node), { from, name: nameOf(each.imported as Node) });
    }
  } else if (node.type === 'VariableDeclarator' && (node.id as Node).type === 'Identifier' && isNode(node.init)) {
    add(nameOf(node.id as Node), unwrapped(node.init));
  } else if (node.type === 'FunctionDeclaration' && isNode(node.id)) add(nameOf(node.id), node);
  for (const child of children(node)) declare(child, module);
}

/** Whether an expression is a text, or combines texts. */
function isText(node: Node): boolean {
  if (node.type === 'TemplateLiteral') return true;
  if (node.type === 'Literal') return typeof node.value === 'string' && node.value.includes(' ');
  if (node.type === 'BinaryExpression') {
    return (
      node.operator === '+' && [node.left as Node, node.right as Node].some((side) => isText(side) || isWord(side))
    );
  }
  if (node.type !== 'CallExpression') return false;
  const callee = node.callee as Node;
  return callee.type === 'MemberExpression' && nameOf(callee.property as Node) === 'join';
}

const isWord = (node: Node): boolean => node.type === 'Literal' && typeof node.value === 'string';

/** Removes marks that the source itself contains. */
const unmarked = (text: string): string => text.replace(/[\ue000-\ue003]/g, ' ');

function oneOf(texts: readonly string[]): string {
  const known = [...new Set(texts.filter((text) => text !== ''))];
  if (known.length < 2) return known[0] ?? '';
  return `${MARKS.open}${known.join(MARKS.or)}${MARKS.close}`;
}

function readSource(path: string): string | null {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return null;
  }
}
