/** The streams of a fleet and their subjects: `chi`, the kind, then the machine that may write it. */
export const STREAMS = {
  events: { name: 'CHI_EV', subjects: ['chi.ev.*.*'] },
  state: { name: 'CHI_STATE', subjects: ['chi.state.*.>'] },
  claims: { name: 'CHI_CLAIM', subjects: ['chi.claim.*'] },
  owners: { name: 'CHI_OWNER', subjects: ['chi.owner.*'] },
} as const

export type StreamKind = keyof typeof STREAMS

export const subjects = {
  /** Bytes of a session's log. */
  events: (machine: string, session: string) => `chi.ev.${machine}.${session}`,
  presence: (machine: string) => `chi.state.${machine}.presence`,
  session: (machine: string, session: string) => `chi.state.${machine}.session.${session}`,
  /** The claim of a piece of work. Only hubs write it; the machine that does the work reads it. */
  claim: (id: string) => `chi.claim.${id}`,
  /** The open groups of work of a hub. The capitals keep it apart from names of work, which have none. */
  openGroups: (hub: string) => `chi.claim.OPEN_${hub}`,
  /** The owner of a session that was moved or taken over. Only hubs write it. */
  owner: (session: string) => `chi.owner.${session}`,
  /** Record of a forgotten machine. It is stored among the owners, which every hub reads and only hubs write. */
  forgotten: (machine: string) => `chi.owner.${FORGOTTEN}${machine}`,
  /** All states of a machine. */
  all: (machine: string) => `chi.state.${machine}.>`,
  calls: (machine: string) => `chi.rpc.${machine}`,
  join: 'chi.join',
} as const

/** Parses machine and session from `chi.ev.<machine>.<session>` or `chi.state.<machine>.session.<session>`. */
export function parseSubject(subject: string): { machine: string; session: string | undefined } | undefined {
  const [prefix, kind, machine, ...rest] = subject.split('.')
  if (prefix !== 'chi' || machine === undefined || !isMachineName(machine)) return undefined
  if (kind === 'ev') return { machine, session: rest[0] }
  if (kind !== 'state') return undefined
  return { machine, session: rest[0] === 'session' ? rest[1] : undefined }
}

/** The machine of a record about a forgotten one. No session has a name of this form. */
export function forgottenIn(subject: string): string | undefined {
  const [, , name = ''] = subject.split('.')
  const machine = name.startsWith(FORGOTTEN) ? name.slice(FORGOTTEN.length) : ''
  return isMachineName(machine) ? machine : undefined
}

const FORGOTTEN = 'FORGOTTEN_'

/** Checks a machine name, which becomes part of subjects and paths. */
export function isMachineName(name: string): boolean {
  return /^[a-z0-9](?:[a-z0-9-]{0,38}[a-z0-9])?$/.test(name)
}

/** Derives a machine name from a host name. */
export function machineNameOf(host: string): string {
  const name = host
    .toLowerCase()
    .split('.')[0]
    ?.replace(/[^a-z0-9]+/g, '-')
    .replace(/^-+|-+$/g, '')
    .slice(0, 40)
  const trimmed = name?.replace(/-+$/, '') ?? ''
  return isMachineName(trimmed) ? trimmed : 'machine'
}

/** A worker runs agents; a hub also shows the sessions of all machines and calls them. */
export type Role = 'worker' | 'hub'

export interface Rights {
  publish: string[]
  subscribe: string[]
}

/** The rights that the broker gives a machine: it writes only its own subjects and reads nothing of another machine. */
export function rightsOf(machine: string, role: Role): Rights {
  const { events, state, claims, owners } = STREAMS
  const publish = [
    ...[`chi.ev.${machine}.*`, `chi.state.${machine}.>`],
    `$JS.API.DIRECT.GET.${events.name}.chi.ev.${machine}.*`,
    `$JS.API.DIRECT.GET.${state.name}.chi.state.${machine}.>`,
    `$JS.API.STREAM.MSG.GET.${claims.name}`,
    `$JS.API.STREAM.MSG.GET.${owners.name}`,
  ]
  const subscribe = [`chi.rpc.${machine}`, `${inboxOf(machine)}.>`]
  if (role === 'worker') return { publish, subscribe }
  const api = ['STREAM.INFO.*', 'STREAM.CREATE.*', 'STREAM.MSG.GET.*', 'CONSUMER.CREATE.>', 'CONSUMER.INFO.>']
  const more = ['CONSUMER.DELETE.>', 'CONSUMER.MSG.NEXT.>']
  return {
    publish: [
      ...publish,
      ...['chi.rpc.*', 'chi.claim.*', 'chi.owner.*'],
      ...[...api, ...more].map(name => `$JS.API.${name}`),
      // Purging of ended, deleted or forgotten entries.
      ...[claims, events, state].map(({ name }) => `$JS.API.STREAM.PURGE.${name}`),
    ],
    subscribe,
  }
}

/** Prefix for answers to a machine, which no other machine may listen to. */
export function inboxOf(machine: string): string {
  return `_INBOX_${machine}`
}
