/** A folder's path as one part of an address: slashes and dots in it would be taken for something else on the way. */
export function toSlug(root: string): string {
  const bytes = new TextEncoder().encode(root)
  return btoa(String.fromCharCode(...bytes))
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replaceAll('=', '')
}

/** Undefined for what is no slug. */
export function fromSlug(slug: string | undefined): string | undefined {
  if (slug === undefined) return undefined
  try {
    const binary = atob(slug.replaceAll('-', '+').replaceAll('_', '/'))
    return new TextDecoder('utf-8', { fatal: true }).decode(
      Uint8Array.from(binary, char => char.charCodeAt(0)),
    )
  } catch {
    return undefined
  }
}

/** The project of a session, and the machine that has it if that is another one. */
export function placeName({
  projectRoot,
  machine,
}: {
  projectRoot: string
  machine?: { name: string } | undefined
}): string {
  return machine ? `${projectName(projectRoot)} on ${machine.name}` : projectName(projectRoot)
}

/** The last part of a folder's path: what people call a project. */
export function projectName(root: string): string {
  return root.split('/').filter(Boolean).at(-1) ?? root
}

/** Why nothing can be done now with a session of another machine. Null if it can. */
export function awayWords(machine: { name: string; state: string } | undefined): string | null {
  if (machine === undefined || machine.state === 'here') return null
  return machine.state === 'away' ? `${machine.name} is away` : `${machine.name} was not heard yet`
}

/** The name of a machine, and that it cannot be reached. `unknown`: this server is cut off itself. */
export function machineWords({ name, state }: { name: string; state: 'here' | 'away' | 'unknown' }): string {
  if (state === 'here') return name
  return state === 'away' ? `${name}, away` : `${name}, not connected`
}
