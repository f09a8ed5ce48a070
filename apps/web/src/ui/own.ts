/** An entry of a table by a name that comes from outside: `__proto__` and `constructor` are in no table. */
export function own<T>(table: Readonly<Record<string, T>>, name: string): T | undefined {
  return Object.hasOwn(table, name) ? table[name] : undefined
}
