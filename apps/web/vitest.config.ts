import { packageTests } from '../../.scripts/vitest.ts'

export default packageTests({ longest: ['test/e2e/', 'test/browser/'] })
