/** The intersection of the parameter types of several functions. */
export type PartsOf<Makers extends readonly ((parts: never) => unknown)[]> = Makers[number] extends (
  parts: infer Parts,
) => unknown
  ? Parts
  : never;
