/** What the setup of a test run has put into the environment of its tests. */
export function requireVariable(name: string): string {
  const value = process.env[name];
  if (value === undefined) throw new Error(`${name} is not set: run tests with "npm test -- <files>"`);
  return value;
}
