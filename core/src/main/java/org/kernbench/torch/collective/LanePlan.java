package org.kernbench.torch.collective;

import java.util.List;
import org.kernbench.machine.Pe;

/** How one lane of a collective is performed, and where. */
public record LanePlan(List<Pe> pes, CollectiveCall call, CollectivePlan plan) {}
