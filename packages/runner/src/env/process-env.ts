/** A copy of our own environment. The only place that reads `process.env`. */
export function processEnv(): Record<string, string> {
  const env: Record<string, string> = {}
  for (const [name, value] of Object.entries(process.env)) if (value !== undefined) env[name] = value
  return env
}
