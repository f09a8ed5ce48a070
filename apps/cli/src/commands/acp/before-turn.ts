import type { HarnessInfo } from '@chirality/centre'
import type { CallInputs, CallOutputs } from '@chirality/client'
import { type LocalServer, refusalCode } from '../../running-server.ts'
import type { EditorServers } from './editor-servers.ts'
import type { EditorSession } from './editor-session.ts'
import { fenced } from './fenced.ts'

type Trust = CallOutputs['trust']['get']

/** A card of Chirality itself, shown where the editor shows the requests of an agent. */
export interface Card {
  toolCallId: string
  title: string
  text: string
  options: object[]
}

/** Resolves with the id of the chosen option, or with nothing if the card was dismissed or could not be shown. */
export type AskCard = (card: Card) => Promise<string | undefined>

interface Prepared {
  live: EditorSession
  project: string
  harness: HarnessInfo | undefined
  servers: EditorServers
  /** The files of the project that the user does not want to be used, by their fingerprint. */
  refused: Set<string>
}

/** The tool servers of the editor that its user allows, for the turns of the session. Resolves with why they are refused. */
export async function lendServers({ live, servers }: Prepared, ask: AskCard): Promise<string | undefined> {
  if (servers.isEmpty) return undefined
  return lent(live.server, live.id, await servers.allowed(ask))
}

/**
 * Asks once whether the agent may use what the project brings for it: settings, commands, hooks and servers. The answer is
 * kept by their content, so a file that changes is asked about again. Resolves with whether anything changed.
 */
export async function askTrust(session: Prepared, ask: AskCard): Promise<boolean> {
  const { live, project, harness, refused } = session
  if (!harness?.usesProjectFiles) return false
  const trust = await live.server.calls.trust.get.query({ project }).catch(() => undefined)
  if (trust === undefined || trust.isTrusted || trust.problem !== undefined || trust.files.length === 0)
    return false
  const { fingerprint, files } = trust
  if (refused.has(fingerprint)) return false
  const chosen = await ask({
    toolCallId: `project-settings-${fingerprint.slice(0, 12)}`,
    title: "Use this project's settings, commands and servers?",
    text: `This project brings files that the agent would run, or take commands and addresses from:\n\n${files.map(shown).join('\n\n')}`,
    options: [
      { optionId: 'always', name: 'Use exactly these, until they change', kind: 'allow_always' },
      { optionId: 'no', name: 'Do not use them', kind: 'reject_once' },
    ],
  })
  if (chosen !== 'always') {
    refused.add(fingerprint)
    return false
  }
  await live.server.calls.trust.allow.mutate({ project, fingerprint })
  return true
}

/** A file as it is: the fence is longer than any in it. */
function shown({ path, text }: Trust['files'][number]): string {
  const cut = text.length > MAX_FILE_CHARS ? `${text.slice(0, MAX_FILE_CHARS)}\n…` : text
  return `${path}\n${fenced(cut, '')}`
}

const MAX_FILE_CHARS = 4000

/** Replaces the tool servers that a session has from an editor. Resolves with the reason if the server refuses them. */
export async function lent(
  server: LocalServer,
  sessionId: string,
  servers: CallInputs['toolServers']['lend']['servers'],
): Promise<string | undefined> {
  try {
    await server.calls.toolServers.lend.mutate({ sessionId, servers })
    return undefined
  } catch (error) {
    const code = refusalCode(error)
    if (!(error instanceof Error) || code === undefined || code === 'unreachable') throw error
    return error.message
  }
}
