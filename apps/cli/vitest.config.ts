import { packageTests } from '../../.scripts/vitest.ts'

export default packageTests({ longest: ['test/loop.test', 'test/packed', 'test/run'] })
