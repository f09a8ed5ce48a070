/** A copy of an environment, by default of this process. The only file that uses `process.env`. */
export function processEnv(
  source: Readonly<Record<string, string | undefined>> = process.env,
): Record<string, string> {
  const env: Record<string, string> = {}
  for (const [name, value] of Object.entries(source)) if (value !== undefined) env[name] = value
  return env
}

/** Has libc make a new string of a variable, away from those that the kernel put beside the stack. The value stays. */
export function copyOffStack(name: string): void {
  const value = process.env[name]
  if (value !== undefined) process.env[name] = value
}
