import type { RunnerName } from './counted.ts'
import type { Outcome, Report, TestCase } from './report.ts'

/** JUnit XML as pytest, surefire and gradle write it. */
export function readJunit(content: string, runner: RunnerName): Report | undefined {
  const plain = content.replace(/<!\[CDATA\[[\s\S]*?\]\]>|<!--[\s\S]*?-->/g, '')
  // Cut off half-way: what is missing would count as removed tests, or as none failed.
  if (!/<\/testsuites?>\s*$|<testsuites?\b[^<]*\/>\s*$/.test(plain)) return undefined
  const cases: TestCase[] = []
  let open: TestCase | undefined
  for (const [, close, tag, words = '', empty] of plain.matchAll(TAG)) {
    if (tag === 'testcase' && close === '') {
      open = caseOf(words)
      cases.push(open)
      if (empty !== '') open = undefined
    } else if (tag === 'testcase') open = undefined
    else if (open !== undefined && close === '') open.outcome = outcomeOf(tag ?? '', words) ?? open.outcome
  }
  return { runner, cases }
}

const TAG = /<(\/?)([\w:-]+)((?:\s+[\w:.-]+\s*=\s*(?:"[^"]*"|'[^']*'))*)\s*(\/?)>/g

function caseOf(words: string): TestCase {
  const classname = attribute(words, 'classname')
  const name = `${classname === undefined ? '' : `${classname} `}${attribute(words, 'name') ?? ''}`
  return { name, file: attribute(words, 'file') ?? javaFile(classname), outcome: 'passed' }
}

/** Places where maven and gradle look for the class. The reader leaves out a file that does not exist. */
function javaFile(classname: string | undefined): string | undefined {
  if (classname === undefined || !/^[\w.$]+$/.test(classname)) return undefined
  return `src/test/java/${classname.replace(/\$.*/, '').replaceAll('.', '/')}.java`
}

function outcomeOf(tag: string, words: string): Outcome | undefined {
  if (tag === 'failure' || tag === 'error') return 'failed'
  if (tag !== 'skipped') return undefined
  return attribute(words, 'type') === 'pytest.xfail' ? 'failing-by-design' : 'skipped'
}

function attribute(words: string, name: string): string | undefined {
  const found = new RegExp(`\\s${name}\\s*=\\s*(?:"([^"]*)"|'([^']*)')`).exec(words)
  const value = found?.[1] ?? found?.[2]
  return value?.replace(/&(lt|gt|quot|apos|amp);/g, (_, entity: string) => ENTITIES[entity] ?? '')
}

const ENTITIES: Record<string, string> = { lt: '<', gt: '>', quot: '"', apos: "'", amp: '&' }
