import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { isNode, type Node, parse } from './syntax-tree.ts';

/**
 * The shape of a JSON value according to a type of a vendor's SDK: its possible forms, the members of its objects, and its literal
 * texts.
 */
export interface SdkShape {
  /** The texts of a union of literals, such as the values of `type`. */
  readonly texts: Set<string>;
  /** The possible objects, one per variant. */
  readonly objects: SdkObject[];
  /** The shape of the items, if the value may be an array. */
  items: SdkShape | null;
  /** Whether any text, number or boolean is possible. */
  isScalar: boolean;
  /** Whether any value is possible. */
  isOpen: boolean;
}

export interface SdkObject {
  readonly name: string;
  readonly members: ReadonlyMap<string, () => SdkShape>;
}

interface Place {
  readonly file: string;
  readonly declarations: ReadonlyMap<string, Node>;
  /** Imported names with their sources. */
  readonly imports: ReadonlyMap<string, { readonly file: string; readonly name: string }>;
}

/** Reads the types of one SDK. */
export class SdkTypes {
  readonly #places = new Map<string, Place>();

  /** The shape of an exported type of a declaration file. */
  shapeOf(file: string, name: string): SdkShape {
    const shape = emptyShape();
    this.#named(this.#place(file), name, '', shape, new Set());
    return shape;
  }

  #place(file: string): Place {
    let place = this.#places.get(file);
    if (place === undefined) {
      const program = parse(file, readFileSync(file, 'utf8'));
      const declarations = new Map<string, Node>();
      const imports = new Map<string, { file: string; name: string }>();
      for (const node of program.body as Node[]) {
        if (node.type === 'ImportDeclaration') addImports(file, node, imports);
        else addDeclarations(node, '', declarations);
      }
      place = { file, declarations, imports };
      this.#places.set(file, place);
    }
    return place;
  }

  /** Adds the shape of a named type that is used in the namespace `scope`. */
  #named(place: Place, name: string, scope: string, shape: SdkShape, within: Set<string>): void {
    for (let outer = scope; ; outer = outer.slice(0, Math.max(outer.lastIndexOf('.'), 0))) {
      const full = outer === '' ? name : `${outer}.${name}`;
      const found = place.declarations.get(full);
      if (found !== undefined) {
        const key = `${place.file}#${full}`;
        if (within.has(key)) {
          shape.isOpen = true;
          return;
        }
        this.#declared(place, found, full, shape, new Set([...within, key]));
        return;
      }
      if (outer === '') break;
    }
    const [first, ...rest] = name.split('.');
    const imported = place.imports.get(first!);
    if (imported === undefined) {
      shape.isOpen = true;
      return;
    }
    const inner = [imported.name, ...rest].filter((part) => part !== '*').join('.');
    this.#named(this.#place(imported.file), inner, '', shape, within);
  }

  #declared(place: Place, node: Node, full: string, shape: SdkShape, within: Set<string>): void {
    if (node.type === 'TSInterfaceDeclaration') {
      shape.objects.push({ name: full, members: this.#interfaceMembers(place, node, full, within) });
    } else if (node.type === 'TSTypeAliasDeclaration') {
      this.#add(place, node.typeAnnotation as Node, full, shape, within);
    } else {
      shape.isOpen = true;
    }
  }

  #interfaceMembers(place: Place, node: Node, full: string, within: Set<string>): Map<string, () => SdkShape> {
    const members = new Map<string, () => SdkShape>();
    for (const parent of node.extends as Node[]) {
      const shape = emptyShape();
      this.#reference(place, parent.expression as Node, parent, full, shape, within);
      for (const object of shape.objects) for (const [name, value] of object.members) members.set(name, value);
    }
    this.#addMembers(place, (node.body as Node).body as Node[], full, members, within);
    return members;
  }

  #addMembers(
    place: Place,
    nodes: readonly Node[],
    scope: string,
    members: Map<string, () => SdkShape>,
    within: Set<string>,
  ): void {
    for (const node of nodes) {
      if (node.type !== 'TSPropertySignature') continue;
      const key = node.key as Node;
      const name = String(key.name ?? key.value);
      const type = (node.typeAnnotation as Node | null)?.typeAnnotation as Node | undefined;
      members.set(name, () => {
        const shape = emptyShape();
        if (type === undefined) shape.isOpen = true;
        else this.#add(place, type, scope, shape, within);
        return shape;
      });
    }
  }

  #add(place: Place, node: Node, scope: string, shape: SdkShape, within: Set<string>): void {
    switch (node.type) {
      case 'TSUnionType':
        for (const type of node.types as Node[]) this.#add(place, type, scope, shape, within);
        break;
      case 'TSParenthesizedType':
        this.#add(place, node.typeAnnotation as Node, scope, shape, within);
        break;
      case 'TSTypeReference':
        this.#reference(place, node.typeName as Node, node, scope, shape, within);
        break;
      case 'TSTypeLiteral': {
        const members = new Map<string, () => SdkShape>();
        const nodes = node.members as Node[];
        this.#addMembers(place, nodes, scope, members, within);
        if (nodes.some(({ type }) => type === 'TSIndexSignature')) shape.isOpen = true;
        else shape.objects.push({ name: scope, members });
        break;
      }
      case 'TSArrayType':
        shape.items ??= emptyShape();
        this.#add(place, node.elementType as Node, scope, shape.items, within);
        break;
      case 'TSLiteralType': {
        const { value } = node.literal as Node;
        if (typeof value === 'string') shape.texts.add(value);
        else shape.isScalar = true;
        break;
      }
      case 'TSStringKeyword':
      case 'TSNumberKeyword':
      case 'TSBooleanKeyword':
      case 'TSTemplateLiteralType':
        shape.isScalar = true;
        break;
      case 'TSNullKeyword':
      case 'TSUndefinedKeyword':
        break;
      default:
        shape.isOpen = true;
    }
  }

  #reference(place: Place, name: Node, node: Node, scope: string, shape: SdkShape, within: Set<string>): void {
    const text = dotted(name);
    const parameters = ((node.typeArguments as Node | null)?.params ?? []) as Node[];
    if (text === 'Array' || text === 'ReadonlyArray') {
      shape.items ??= emptyShape();
      this.#add(place, parameters[0]!, scope, shape.items, within);
    } else if (text === 'Omit' || text === 'Partial' || text === 'Required') {
      this.#add(place, parameters[0]!, scope, shape, within);
    } else if (text === 'Record') {
      shape.isOpen = true;
    } else {
      this.#named(place, text, scope, shape, within);
    }
  }
}

function emptyShape(): SdkShape {
  return { texts: new Set(), objects: [], items: null, isScalar: false, isOpen: false };
}

function dotted(node: Node): string {
  if (node.type === 'TSQualifiedName') return `${dotted(node.left as Node)}.${dotted(node.right as Node)}`;
  if (node.type === 'MemberExpression') return `${dotted(node.object as Node)}.${dotted(node.property as Node)}`;
  return String(node.name);
}

function addDeclarations(node: Node, scope: string, found: Map<string, Node>): void {
  switch (node.type) {
    case 'ExportNamedDeclaration':
      if (isNode(node.declaration)) addDeclarations(node.declaration, scope, found);
      break;
    case 'TSModuleDeclaration': {
      const inner = scope === '' ? dotted(node.id as Node) : `${scope}.${dotted(node.id as Node)}`;
      for (const each of ((node.body as Node | null)?.body ?? []) as Node[]) addDeclarations(each, inner, found);
      break;
    }
    case 'TSInterfaceDeclaration':
    case 'TSTypeAliasDeclaration': {
      const name = String((node.id as Node).name);
      found.set(scope === '' ? name : `${scope}.${name}`, node);
      break;
    }
    default:
  }
}

function addImports(file: string, node: Node, found: Map<string, { file: string; name: string }>): void {
  const source = String((node.source as Node).value);
  if (!source.startsWith('.')) return;
  const target = join(dirname(file), source.replace(/\.(m?)js$/, '.d.$1ts'));
  for (const each of node.specifiers as Node[]) {
    const local = String((each.local as Node).name);
    const name = each.type === 'ImportSpecifier' ? String((each.imported as Node).name) : '*';
    found.set(local, { file: target, name });
  }
}
