/** The part of `node:sqlite` that is used here. It is in Node since 22.5, and no types of Node 20 know it. */
export interface SqliteDatabase {
  exec(sql: string): void
  prepare(sql: string): { run(...values: (string | number)[]): unknown }
  close(): void
}

/** Undefined where this Node has none. */
export async function loadSqlite(): Promise<(new (file: string) => SqliteDatabase) | undefined> {
  // Not a literal: what does not know the module would refuse to build it.
  const name: string = 'node:sqlite'
  try {
    return (await import(name)).DatabaseSync
  } catch {
    return undefined
  }
}
