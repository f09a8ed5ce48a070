/** A JSON value as TOML, for `-c key=value`. Only what configuration needs: no dates, no null. */
export function toToml(value: unknown): string {
  if (typeof value === 'string') return tomlString(value)
  if (typeof value === 'number' || typeof value === 'boolean') return String(value)
  if (Array.isArray(value)) return `[${value.map(toToml).join(', ')}]`
  if (typeof value === 'object' && value !== null) {
    const entries = Object.entries(value).filter(([, entry]) => entry !== undefined && entry !== null)
    return `{ ${entries.map(([key, entry]) => `${tomlString(key)} = ${toToml(entry)}`).join(', ')} }`
  }
  throw new TypeError(`${typeof value} has no form in TOML`)
}

/** JSON's escapes are TOML's, but for the control characters that JSON may leave as they are. */
function tomlString(text: string): string {
  return JSON.stringify(text).replace(/\u007f/g, '\\u007f')
}
