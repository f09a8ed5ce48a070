/** The streams of a fleet and the subjects in them. Each begins with the kind; the machine that may write it is next. */
export const STREAMS = {
  events: { name: 'CHI_EV', subjects: ['chi.ev.*.*'] },
  state: { name: 'CHI_STATE', subjects: ['chi.state.*.>'] },
  claims: { name: 'CHI_CLAIM', subjects: ['chi.claim.*'] },
  owners: { name: 'CHI_OWNER', subjects: ['chi.owner.*'] },
} as const

export type StreamKind = keyof typeof STREAMS

export const subjects = {
  /** The bytes of a session's log. */
  events: (machine: string, session: string) => `chi.ev.${machine}.${session}`,
  presence: (machine: string) => `chi.state.${machine}.presence`,
  session: (machine: string, session: string) => `chi.state.${machine}.session.${session}`,
  /** Who does a piece of work. Only hubs write it; the machine that is to do it reads it. */
  claim: (id: string) => `chi.claim.${id}`,
  /** The groups of work of a hub that are open. No work has capitals in its name. */
  openGroups: (hub: string) => `chi.claim.OPEN_${hub}`,
  /** The machine that a session was moved to or taken over by. Only hubs write it. */
  owner: (session: string) => `chi.owner.${session}`,
  /** That a machine was forgotten. It is among the owners, which every hub reads and only hubs write. */
  forgotten: (machine: string) => `chi.owner.${FORGOTTEN}${machine}`,
  /** All states that a machine told. */
  all: (machine: string) => `chi.state.${machine}.>`,
  calls: (machine: string) => `chi.rpc.${machine}`,
  join: 'chi.join',
} as const

/** The machine and the session of `chi.ev.<machine>.<session>` or `chi.state.<machine>.session.<session>`. */
export function parseSubject(subject: string): { machine: string; session: string | undefined } | undefined {
  const [prefix, kind, machine, ...rest] = subject.split('.')
  if (prefix !== 'chi' || machine === undefined || !isMachineName(machine)) return undefined
  if (kind === 'ev') return { machine, session: rest[0] }
  if (kind !== 'state') return undefined
  return { machine, session: rest[0] === 'session' ? rest[1] : undefined }
}

/** The machine of a record that it was forgotten. No session has a name like that. */
export function forgottenIn(subject: string): string | undefined {
  const [, , name = ''] = subject.split('.')
  const machine = name.startsWith(FORGOTTEN) ? name.slice(FORGOTTEN.length) : ''
  return isMachineName(machine) ? machine : undefined
}

const FORGOTTEN = 'FORGOTTEN_'

/** A name is a part of subjects and of paths. */
export function isMachineName(name: string): boolean {
  return /^[a-z0-9](?:[a-z0-9-]{0,38}[a-z0-9])?$/.test(name)
}

/** A machine name that is made of the host's name. */
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

/** What the broker lets a machine do. A machine writes only what is its own, and reads nothing of another. */
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
      // What is over, deleted or forgotten.
      ...[claims, events, state].map(({ name }) => `$JS.API.STREAM.PURGE.${name}`),
    ],
    subscribe,
  }
}

/** Answers to a machine go where no other machine listens. */
export function inboxOf(machine: string): string {
  return `_INBOX_${machine}`
}
