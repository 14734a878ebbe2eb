import type { Home } from '../src/db/homes.ts';
import { isNode, type Node, nameOf, parse, placeOf } from './syntax-tree.ts';

/** A connection type in a source file. */
export interface TakenConnections {
  /** `src/app/people.ts:12` */
  readonly place: string;
  readonly type: string;
  /** `null`: the type does not state it. */
  readonly home: Home | null;
}

/** Types of `src/db/database.ts`, for either home. */
const PLAIN = new Set(['Database', 'DatabasePool', 'Queryable', 'TableReader', 'SnapshotReader']);
/** Types of `src/db/home-pools.ts`. */
const BRANDED = /^(Directory|Partition)(?:Database|Pool|Queryable)$/;

/** The connection types in a source file, without member types such as `Database['query']`. */
export function connectionsIn(text: string, file: string): TakenConnections[] {
  const found: TakenConnections[] = [];
  const imported = new Set<string>();
  const visit = (node: Node): void => {
    if (node.type === 'ImportDeclaration') {
      const isOfDatabase = /\/(?:database|home-pools)\.ts$/.test(String((node.source as Node).value));
      for (const each of node.specifiers as Node[]) if (isOfDatabase) imported.add(nameOf(each.local as Node));
      return;
    }
    if (node.type === 'TSIndexedAccessType') return;
    if (node.type === 'TSTypeReference') {
      const type = nameOf(node.typeName as Node);
      const [, branded] = BRANDED.exec(type) ?? [];
      if (imported.has(type) && (branded !== undefined || PLAIN.has(type))) {
        const home = (branded?.toLowerCase() as Home | undefined) ?? null;
        found.push({ place: placeOf(file, text, node), type, home });
      }
    }
    for (const value of Object.values(node)) for (const child of [value].flat()) if (isNode(child)) visit(child);
  };
  visit(parse(file, text));
  return found;
}
