import type { CallRisk } from '../events/ui-event.ts'
import { INTERPRETER } from './command-text.ts'
import { BACK_FILES } from './git-risks.ts'

/**
 * The dangers of code that a command hands to a database or to an interpreter: in its arguments, through a pipe or as a
 * here-document. Code in files is not read.
 */
export function* codeRisks(command: string): Generator<CallRisk> {
  const segments = segmentsOf(command)
  for (const [index, { text }] of segments.entries()) {
    if (TEXT_FIRST.test(text)) continue
    const isDatabase = DATABASE.test(text)
    const isFed = segments[index - 1]?.isPiped === true && BARE_INTERPRETER.test(text)
    const isScript = isFed || INTERPRETER.test(text)
    if (!isDatabase && !isScript) continue
    const code = handedTo(segments, index)
    const part = text.trim()
    const query = (EXECUTES_TEXT.test(code) ? code : withoutStrings(code)).replace(/\/\*[^*]*\*\//g, ' ')
    if (isDatabase && DESTROYS_DATA.some(pattern => pattern.test(query)))
      yield {
        kind: 'data',
        part,
        words: 'Deletes data of a database. Going back to before this turn brings none of it back.',
      }
    if (isScript && DELETES_FOLDERS.test(code))
      yield { kind: 'delete', part, words: `Deletes a folder with everything in it. ${BACK_FILES}` }
    else if (isScript && LISTS_FILES.test(code) && DELETES_FILE.test(code))
      yield { kind: 'delete', part, words: `Deletes every file that it finds. ${BACK_FILES}` }
  }
}

interface Segment {
  text: string
  /** Whether its output is the input of the next one. */
  isPiped: boolean
}

/** The commands of a line, split at operators outside of quotes. */
function segmentsOf(command: string): Segment[] {
  const segments: Segment[] = []
  let text = ''
  for (const [piece, quoted] of command.matchAll(PIECE)) {
    if (quoted === undefined && OPERATOR.test(piece)) {
      segments.push({ text, isPiped: piece === '|' || piece === '|&' })
      text = ''
    } else text += piece
  }
  return [...segments, { text, isPiped: false }]
}

const PIECE = /('[^']*'|"(?:[^"\\]|\\.)*")|\|\||\|&|&&|[;&|\n]|\\.|[^;&|\n'"\\]+|['"\\]/g
const OPERATOR = /^(?:\|\||\|&|&&|[;&|\n])$/

/** More programs are in no pipe that somebody wrote. */
const MAX_PIPED = 20

function handedTo(segments: readonly Segment[], index: number): string {
  let first = index
  while (first > Math.max(0, index - MAX_PIPED) && segments[first - 1]?.isPiped) first -= 1
  const feeding = segments.slice(first, index + 1)
  const last = feeding.some(({ text }) => /<<(?!<)/.test(text)) ? segments.length : index + 1
  return segments
    .slice(first, last)
    .map(({ text }) => text)
    .join('\n')
}

/** `select 'drop table x'` drops nothing. Single quotes inside double ones belong to the query, others to the shell. */
function withoutStrings(code: string): string {
  return code.replace(/"(?:[^"\\]|\\.)*"/g, query => query.replace(/'[^']*'/g, "''"))
}

/** What comes through the pipe is its code. */
const BARE_INTERPRETER = /^\s*(?:\S*\/)?(?:python[\d.]*|pypy3?|node|ruby|perl|php)(?:\s+-)?\s*$/
const EXECUTES_TEXT = /\b(?:execute|prepare|eval)\b/i
/** Programs that only show or search text. */
const TEXT_FIRST =
  /^\s*(?:\S*\/)?(?:echo|printf|grep|egrep|rg|ag|git|gh|jq|less|head|tail|sed|awk|man|which|ls|code|vim?|nano)(?:\s|$)/
const DATABASE =
  /(?:^|[\s"'/=(])(?:psql|pgcli|mysql|mariadb|mycli|sqlite3|litecli|duckdb|sqlcmd|cockroach|clickhouse(?:-client)?|snowsql|bq|usql|mongo(?:sh)?|redis-cli|valkey-cli|cqlsh|(?:heroku|supabase|wrangler|turso)\s(?:[^\s;&|]+\s){0,4}?(?:pg:psql|db\sexecute|d1\sexecute|db\sshell))(?=["'\s]|$)/

const DESTROYS_DATA = [
  /\bdrop\s+(?:table|database|schema|keyspace|materialized\s+view|view|owned|user|role|column|collection|tablespace|partition)\b/i,
  /\balter\s+table\s+[\w."`[\]]+\s+drop\s+(?!(?:constraint|index|primary|foreign|default|check)\b)/i,
  /\btruncate\s+(?:table\s+)?(?:only\s+)?["`[\w]/i,
  /\bdelete\s+from\s+[\w."`[\]]+(?![^;]{0,4000}\bwhere\b(?!\s*\(?\s*(?:true\b|1\b|'1'\s*=)))/i,
  /\bupdate\s+[\w."`[\]]+\s+set\b(?![^;]{0,4000}\bwhere\b(?!\s*\(?\s*(?:true\b|1\b|'1'\s*=)))/i,
  /\.?dropDatabase\s*\(|\.drop\s*\(|\.(?:deleteMany|remove)\s*\(\s*(?:\{\s*\})?\s*\)/,
  /\bflush(?:all|db)\b/i,
]
const DELETES_FOLDERS =
  /\brmtree\b|\bremovedirs\b|\brm(?:Sync)?\s*\([^)]{0,500}recursive|\brmdir(?:Sync)?\s*\([^)]{0,500}recursive|\brimraf\b|\brm_rf?\b|\bremove_(?:dir|entry|tree)\b|\bDeno\.remove(?:Sync)?\s*\([^)]{0,500}recursive|\bemptyDir(?:Sync)?\s*\(|\bfs(?:e|-extra)?(?:["']\))?\.remove(?:Sync)?\s*\(/
const LISTS_FILES = /\b(?:listdir|scandir|iterdir|glob\w*|rglob|walk|readdir(?:Sync)?|Dir\.\w+)\b|\bDir\[|<\*/
const DELETES_FILE = /\b(?:unlink|remove|rm)(?:Sync)?\s*\(|\bunlink\b|\bFile\.delete\b/
