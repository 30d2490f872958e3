import polars
import tapelens

run = tapelens.open("run.tapelens")
peak = polars.DataFrame(run.peak)
print(peak.group_by("category").agg(polars.len(), polars.sum("bytes")).sort("bytes", descending=True))
for step in run.steps.rows():
    print(f"step {step['step']}: peak {step['peak_bytes']:,} bytes, {step['allocations']} allocations")
