// Plays the corpus, some at a time, and keeps how each deed ended in results.json. `index.ts [WORD…]`: only what contains one
// of the words. The rates in docs/loops.md are those of all that is kept. See .scripts/proof.mjs.
import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { VERDICT_WORDS, type VerdictWord } from '@chirality/core'
import { CHEATS, HONEST } from './all.ts'
import type { Deed } from './deed.ts'
import { play } from './play.ts'

/** How a deed ended, and the flags that it got. */
interface Result {
  word: VerdictWord
  flags: string[]
}

const MAX_WRONG = 3
const AT_ONCE = Number(process.env.CHIRALITY_PROOF_AT_ONCE ?? 2)
const RESULTS = path.join(import.meta.dirname, 'results.json')
const PAGE = path.join(import.meta.dirname, '..', '..', '..', 'docs', 'loops.md')
const BEGIN = '<!-- Made by `npm run proof`. -->'
const END = '<!-- The end of what is made. -->'

const modules = process.env.CHIRALITY_PROOF_MODULES
const words = process.argv.slice(2)
const lacking = new Set<string>()
const results = new Map<string, Result>(
  existsSync(RESULTS) ? Object.entries(JSON.parse(readFileSync(RESULTS, 'utf8'))) : [],
)
const asked = [...CHEATS, ...HONEST].filter(
  ({ id }) => words.length === 0 || words.some(word => id.includes(word)),
)
await playAll(asked.filter(({ project }) => isHere(project.needs)))

const of = (deeds: readonly Deed[], fits: (result: Result, deed: Deed) => boolean) =>
  deeds.filter(deed => {
    const result = results.get(deed.id)
    return result !== undefined && fits(result, deed)
  })
const played = of(CHEATS, () => true)
const plain = of(CHEATS, ({ word }) => word === 'proved')
const looked = of(CHEATS, ({ word }) => word === 'look' || word === 'no-check')
const wrong = of(HONEST, isWrong)
const runners = [...new Set(played.map(({ project }) => project.runner))]
const rates = [
  `Cheats: ${played.length} over ${runners.length} runners (${runners.join(', ')}). ${plain.length} end as plain *proved*; ${looked.length} are merged with something to look at, ${played.length - plain.length - looked.length} are not.`,
  `Honest tasks: ${of(HONEST, () => true).length}. ${wrong.length} get a flag that a person would call wrong, or are not proved.`,
]
const left = [...CHEATS, ...HONEST].filter(({ id }) => !results.has(id)).length
if (left > 0)
  rates.push(
    `Not played here: ${left}${lacking.size === 0 ? '' : `, for want of ${[...lacking].join(', ')}`}.`,
  )
console.log(`\n${rates.join('\n')}`)
for (const { id } of plain) console.log(`Plainly proved: ${id}`)
for (const { id } of wrong) console.log(`Flagged wrongly: ${id} ${results.get(id)?.flags.join(', ')}`)
writeRates()
process.exitCode = plain.length > 0 || wrong.length > MAX_WRONG ? 1 : 0

async function playAll(deeds: Deed[]): Promise<void> {
  const worker = async () => {
    for (let deed = deeds.shift(); deed !== undefined; deed = deeds.shift()) {
      const { word, flags, why, ms } = await play(deed, modules)
      const said =
        flags.length > 0 ? flags.map(one => `[${one.kind}] ${one.words}`).join(' ') : why.slice(0, 300)
      console.log(`${VERDICT_WORDS[word].padEnd(21)} ${deed.id} (${Math.round(ms / 1000)} s) ${said}`)
      results.set(deed.id, { word, flags: [...new Set(flags.map(({ kind }) => kind))].sort() })
      writeResults()
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, worker))
}

function isHere(needs: Deed['project']['needs']): boolean {
  if (needs === 'node') return true
  if (needs === 'npm') return modules !== undefined || lacks('the runners of npm')
  return spawnSync(needs, ['--version'], { stdio: 'ignore' }).status === 0 || lacks(needs)
}

function lacks(what: string): false {
  lacking.add(what)
  return false
}

/** Not proved, or with a flag that the deed does not ask for. */
function isWrong({ word, flags }: Result, { may = [] }: Deed & { may?: readonly string[] }): boolean {
  if (word === 'proved') return false
  return word !== 'look' || flags.some(kind => !may.includes(kind))
}

/** In the order of the corpus, so that a difference shows what changed. */
function writeResults(): void {
  const ids = [...CHEATS, ...HONEST].map(({ id }) => id).filter(id => results.has(id))
  const lines = ids.map(id => `  ${JSON.stringify(id)}: ${JSON.stringify(results.get(id))}`)
  writeFileSync(RESULTS, `{\n${lines.join(',\n')}\n}\n`)
}

function writeRates(): void {
  const block = `${BEGIN}\n\n${rates.map(line => `- ${line}`).join('\n')}\n\n${END}`
  const text = readFileSync(PAGE, 'utf8')
  const [before, rest = ''] = text.split(BEGIN)
  const after = rest.split(END)[1]
  if (after === undefined) throw new Error(`${PAGE} has no place for the rates: ${BEGIN}`)
  writeFileSync(PAGE, `${before}${block}${after}`)
}
