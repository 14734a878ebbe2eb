/** All dependencies of several functions: the intersection of the types of their parameters. */
export type PartsOf<Makers extends readonly ((parts: never) => unknown)[]> = Makers[number] extends (
  parts: infer Parts,
) => unknown
  ? Parts
  : never;
