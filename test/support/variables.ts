/** Environment variables that the setup of a test run defines for its tests. */
export function requireVariable(name: string): string {
  const value = process.env[name];
  if (value === undefined) throw new Error(`${name} is not set: run tests with "npm test -- <files>"`);
  return value;
}
