import type { RunnerName } from './counted.ts'
import { readText } from './read-text.ts'
import { isRecord, parsed } from './report.ts'

/** The check and the scripts of package.json that it runs, also through each other, as one text. */
export async function commandTextOf(check: string, folder: string): Promise<string> {
  const scripts = await scriptsOf(folder)
  const found = new Map<string, string>()
  const follow = (command: string) => {
    for (const name of scriptNames(command))
      for (const one of [`pre${name}`, name, `post${name}`]) {
        const script = scripts[one]
        if (script === undefined || found.has(one)) continue
        found.set(one, script)
        follow(script)
      }
  }
  follow(check)
  return [check, ...found.values()].join('\n')
}

function scriptNames(command: string): string[] {
  const names = [...command.matchAll(RUNS_SCRIPT)].map(([, , name = '']) => name)
  const short = [...command.matchAll(/\b(?:npm|pnpm|yarn|bun)\s+(?:-\S+\s+)*(t|tst|test)\b/g)]
  return [...names, ...short.map(() => 'test')]
}

const RUNS_SCRIPT =
  /\b(?:npm|pnpm|yarn|bun|npm-run-all|run-s|run-p)\s+((?:-\S+\s+)*)(?:run-script\s+|run\s+)?(?:-\S+\s+)*([\w:.-]+)/g

async function scriptsOf(folder: string): Promise<Record<string, string>> {
  const found = parsed(await readText(folder, 'package.json'))
  const scripts = isRecord(found) && isRecord(found.scripts) ? found.scripts : {}
  const own = Object.entries(scripts).filter(
    (entry): entry is [string, string] => typeof entry[1] === 'string',
  )
  return Object.fromEntries(own)
}

/** Finds the runner in the text of `commandTextOf`. Null if it names none that is known. */
export function detectRunner(commands: string): RunnerName | null {
  return RUNNER_WORDS.find(([, words]) => words.test(commands))?.[0] ?? null
}

const RUNNER_WORDS: readonly (readonly [RunnerName, RegExp])[] = [
  ['vitest', /\bvitest\b/],
  ['jest', /\bjest\b|\breact-scripts\s+test\b/],
  ['ava', /(^|[\s/;&|])ava\b/m],
  ['mocha', /\bmocha\b/],
  ['playwright', /\bplaywright\s+test\b/],
  ['node:test', /\b(node|tsx)\b[^;&|\n]*\s--test\b/],
  ['tap', /(^|[\s/;&|])(tape|tap)\b/m],
  ['uvu', /\buvu\b/],
  ['pytest', /\b(pytest|py\.test)\b/],
  ['unittest', /\bunittest\b/],
  ['go test', /\bgo\s+test\b/],
  ['cargo test', /\bcargo\s+(\S+\s+)*(test|t|nextest)\b/],
  ['junit', /\b(mvnw?|gradlew?)\b/],
]
