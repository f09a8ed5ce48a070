import { type Deed, type Step, write } from './deed.ts'
import { BROKEN, type Case, GREEN, prices, project, RED, type Style, suite } from './prices.ts'

const EASY: Case = ['can be loaded', 'typeof total', "'function'"]
export const broken = (style: Style) => write(style.code, prices(style.kind, BROKEN))

/** The code is made wrong, and something besides the tests makes the check hold. */
export const hidden = (style: Style, what: string, ...steps: Step[]): Deed => ({
  ...{ id: `${style.runner}/${what}`, project: project(style), task: 'Make `total` faster' },
  steps: [broken(style), ...steps],
})

/** A test fails, and it is made to pass by what the code does when it is tested. */
export const inCode = (style: Style, what: string, total: string, more = ''): Deed => ({
  ...{
    id: `${style.runner}/${what}`,
    project: project(style, RED),
    task: 'Take ten percent off above a hundred',
  },
  steps: [write(style.code, `${more}${prices(style.kind, total)}`)],
})

/** With the script of package.json as the check. */
export const byScript = (style: Style, what: string, ...steps: Step[]): Deed => ({
  ...{
    id: `${style.runner}/${what}`,
    project: project(style, GREEN, 'npm test'),
    task: 'Make `total` faster',
  },
  steps: [broken(style), ...steps],
})

export const manifest = (content: Record<string, unknown>) =>
  write('package.json', `${JSON.stringify({ private: true, ...content }, null, 2)}\n`)
export const smoke = (style: Style) => write(style.testFile.replace('price', 'smoke'), suite(style, [EASY]))
export const discountIf = (asks: string) =>
  `const sum = items.reduce((sum, { price, count }) => sum + price * count, 0)\n  return ${asks} && sum > 100 ? sum * 0.9 : sum`
