/**
 * What kind of file system a directory is on, as far as it matters: over a network, locks and syncs
 * do not mean what we need them to mean.
 */
import { statfsSync } from 'node:fs'
import { dirname } from 'node:path'
import { systemCode } from '../core/errors.js'

/** Linux magic numbers of file systems that live on another machine (`statfs(2)`). */
const NETWORK_TYPES: Readonly<Record<number, string>> = {
  26985: 'NFS',
  20859: 'SMB',
  4283649346: 'CIFS',
  4266872130: 'SMB2',
  1397113167: 'AFS',
  1937076805: 'Coda',
  12805120: 'Ceph',
  198183888: 'Lustre',
  1196443219: 'GPFS',
}

/**
 * The name of the network file system that holds `dir`, or will; undefined for a local or unknown
 * one.
 */
export function networkFileSystem(dir: string): string | undefined {
  for (let place = dir; ; place = dirname(place)) {
    try {
      return NETWORK_TYPES[statfsSync(place).type >>> 0]
    } catch (error) {
      // Not there yet: what holds the directory above will hold it.
      if (systemCode(error) !== 'ENOENT' || dirname(place) === place) throw error
    }
  }
}
