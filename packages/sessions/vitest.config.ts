import { packageTests } from '../../.scripts/vitest.ts'

export default packageTests({ longest: ['test/recovery/kill-loop', 'test/log/'] })
