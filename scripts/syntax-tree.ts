import { parseSync } from 'vite';

/** The syntax tree of a source file, with helpers. */

export interface Node {
  readonly type: string;
  readonly start: number;
  readonly [name: string]: unknown;
}

/** @throws Error if the text is not valid */
export function parse(file: string, text: string): Node {
  const { program, errors } = parseSync(file, text);
  if (errors.length > 0) throw new Error(`${file}: ${errors[0]!.message}`);
  return program as unknown as Node;
}

/** `src/db/migrate.ts:12`. */
export const placeOf = (file: string, text: string, { start }: Node): string =>
  `${file}:${text.slice(0, start).split('\n').length}`;

export const FUNCTIONS = new Set(['ArrowFunctionExpression', 'FunctionExpression', 'FunctionDeclaration']);

/** The names that a pattern declares. */
export function namesOfPattern(pattern: Node): string[] {
  switch (pattern.type) {
    case 'Identifier':
      return [pattern.name as string];
    case 'AssignmentPattern':
      return namesOfPattern(pattern.left as Node);
    case 'ObjectPattern':
      return (pattern.properties as Node[]).flatMap((each) => namesOfPattern((each.value ?? each.argument) as Node));
    case 'ArrayPattern':
      return (pattern.elements as (Node | null)[]).flatMap((each) => (each === null ? [] : namesOfPattern(each)));
    case 'RestElement':
      return namesOfPattern(pattern.argument as Node);
    default:
      return [];
  }
}

/** The returned expressions of a function, without nested functions. */
export function returnsOf(node: Node): Node[] {
  if (node.type === 'ReturnStatement') return isNode(node.argument) ? [node.argument] : [];
  return FUNCTIONS.has(node.type) ? [] : children(node).flatMap(returnsOf);
}

/** Removes enclosing types and parentheses. */
export function unwrapped(node: Node): Node {
  const isWrapper = node.type.startsWith('TS') || node.type === 'ParenthesizedExpression';
  return isWrapper && isNode(node.expression) ? unwrapped(node.expression) : node;
}

/** The properties of an object literal. */
export const propertiesOf = (node: Node): Node[] =>
  node.type === 'ObjectExpression' ? (node.properties as Node[]).filter(({ type }) => type === 'Property') : [];

export const nameOf = (node: Node): string => String(node.name ?? node.value ?? '');

export function children(node: Node): Node[] {
  const found: Node[] = [];
  for (const [name, value] of Object.entries(node)) {
    if (name === 'typeAnnotation' || name === 'typeArguments' || name === 'typeParameters') continue;
    if (name === 'returnType') continue;
    if (Array.isArray(value)) found.push(...value.filter(isNode));
    else if (isNode(value)) found.push(value);
  }
  return found;
}

export function isNode(value: unknown): value is Node {
  return typeof value === 'object' && value !== null && 'type' in value && typeof value.type === 'string';
}
