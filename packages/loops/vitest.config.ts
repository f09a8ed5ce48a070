import { packageTests } from '../../.scripts/vitest.ts'

export default packageTests({ longest: ['test/proof', 'test/forgery'] })
