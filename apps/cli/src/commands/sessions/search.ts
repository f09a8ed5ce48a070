import { type SearchHit, searchSessions } from '@chirality/sessions'
import { EXIT, UsageError } from '../../exit-code.ts'
import { projectFolder, readOptions, wholeNumber } from '../../options.ts'
import { type Output, tell } from '../../output.ts'
import { minute, plain, type Style, style, wantsColour } from '../../render/style.ts'

/** Searches messages and tool calls, newest first. */
export async function searchCommand(args: string[], output: Output): Promise<number> {
  const { values, positionals } = readOptions(args, {
    project: { type: 'string' },
    all: { type: 'boolean' },
    limit: { type: 'string' },
    json: { type: 'boolean' },
  })
  if (positionals.length === 0) throw new UsageError('Say what to search for.')
  if (values.all && values.project !== undefined)
    throw new UsageError('--all and --project exclude each other. Leave one out.')
  const limit = wholeNumber('limit', values.limit, { min: 1, max: MAX_LIMIT }) ?? DEFAULT_LIMIT
  const projectRoot = values.all ? undefined : await projectFolder(values.project)
  const { hits, unreadable } = await searchSessions({ query: positionals.join(' '), projectRoot, limit })
  const paint = style(wantsColour(output.isTerminal))
  await output.write(hits.map(hit => (values.json ? `${JSON.stringify(hit)}\n` : lines(hit, paint))).join(''))
  for (const { error } of unreadable) await tell(`chirality: Not searched: ${error}\n`)
  if (hits.length === 0 && !values.json) await tell('chirality: Nothing found.\n')
  return EXIT.done
}

const DEFAULT_LIMIT = 20
const MAX_LIMIT = 10_000

function lines({ sessionId, seq, at, kind, title, snippet, ranges }: SearchHit, paint: Style): string {
  const where = `${sessionId}  ${paint.dim(`#${seq} ${minute(at)} ${kind}`)}  ${plain(title ?? 'Untitled')}`
  let text = ''
  let from = 0
  for (const [start, end] of ranges) {
    text += plain(snippet.slice(from, start)) + paint.bold(plain(snippet.slice(start, end)))
    from = end
  }
  return `${where}\n  ${text}${plain(snippet.slice(from))}\n`
}
