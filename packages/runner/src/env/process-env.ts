/** A copy of an environment, by default of our own. The only place that reads `process.env`. */
export function processEnv(
  source: Readonly<Record<string, string | undefined>> = process.env,
): Record<string, string> {
  const env: Record<string, string> = {}
  for (const [name, value] of Object.entries(source)) if (value !== undefined) env[name] = value
  return env
}
