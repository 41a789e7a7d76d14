"""The product definition templates of edition 2 (section 4, code table 4.0) as lists of blocks of octets.

Names of keys are those of ecCodes, which other tools share. A block is a text of ``name:octets``; ``+`` before the
octets marks numbers with a sign bit, ``?`` those that are missing when all bits are set.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

BLOCKS: Mapping[str, str] = {
    "parameter": "parameterCategory:1 parameterNumber:1",
    "process": "typeOfGeneratingProcess:1 backgroundProcess:1 generatingProcessIdentifier:1",
    "forecast": "hoursAfterDataCutoff:?2 minutesAfterDataCutoff:?1 indicatorOfUnitOfTimeRange:1 forecastTime:+4",
    "forecast44": "hoursAfterDataCutoff:?2 minutesAfterDataCutoff:?1 indicatorOfUnitOfTimeRange:1 forecastTime:2",
    "surfaces": "typeOfFirstFixedSurface:1 scaleFactorOfFirstFixedSurface:?+1 scaledValueOfFirstFixedSurface:?4 "
    "typeOfSecondFixedSurface:1 scaleFactorOfSecondFixedSurface:?+1 scaledValueOfSecondFixedSurface:?4",
    "member": "typeOfEnsembleForecast:1 perturbationNumber:1 numberOfForecastsInEnsemble:1",
    "member32": "typeOfEnsembleForecast:1 perturbationNumber:4 numberOfForecastsInEnsemble:4",
    "derived": "derivedForecast:1 numberOfForecastsInEnsemble:1",
    "derived32": "derivedForecast:1 numberOfForecastsInEnsemble:4",
    "rectangle": "clusterIdentifier:1 numberOfClusterHighResolution:1 numberOfClusterLowResolution:1 "
    "totalNumberOfClusters:1 clusteringMethod:1 northernLatitudeOfClusterDomain:4 southernLatitudeOfClusterDomain:4 "
    "easternLongitudeOfClusterDomain:4 westernLongitudeOfClusterDomain:4 numberOfForecastsInTheCluster:1 "
    "scaleFactorOfStandardDeviation:1 scaledValueOfStandardDeviation:4 scaleFactorOfDistanceFromEnsembleMean:1 "
    "scaledValueOfDistanceFromEnsembleMean:4",
    "circle": "clusterIdentifier:1 numberOfClusterHighResolution:1 numberOfClusterLowResolution:1 "
    "totalNumberOfClusters:1 clusteringMethod:1 latitudeOfCentralPointInClusterDomain:4 "
    "longitudeOfCentralPointInClusterDomain:4 radiusOfClusterDomain:4 numberOfForecastsInTheCluster:1 "
    "scaleFactorOfStandardDeviation:1 scaledValueOfStandardDeviation:4 scaleFactorOfDistanceFromEnsembleMean:1 "
    "scaledValueOfDistanceFromEnsembleMean:4",
    "probability": "forecastProbabilityNumber:1 totalNumberOfForecastProbabilities:1 probabilityType:1 "
    "scaleFactorOfLowerLimit:?+1 scaledValueOfLowerLimit:?+4 scaleFactorOfUpperLimit:?+1 scaledValueOfUpperLimit:?+4",
    "percentile": "percentileValue:1",
    "quantile": "totalNumberOfQuantiles:2 quantileValue:2",
    "spatial": "statisticalProcess:1 spatialProcessing:1 numberOfPointsUsed:1",
    "observation": "typeOfGeneratingProcess:1 observationGeneratingProcessIdentifier:1",
    "quality": "qualityValueAssociatedWithParameter:1",
    "satellite": "NB:1",
    "satellite30": "NB:1",
    "chemical": "constituentType:2",
    "source": "sourceSinkChemicalPhysicalProcess:1",
    "aerosol": "constituentType:2",
    "size": "typeOfSizeInterval:1 scaleFactorOfFirstSize:+1 scaledValueOfFirstSize:+4 scaleFactorOfSecondSize:?+1 "
    "scaledValueOfSecondSize:?+4",
    "optical": "typeOfWavelengthInterval:1 scaleFactorOfFirstWavelength:+1 scaledValueOfFirstWavelength:+4 "
    "scaleFactorOfSecondWavelength:?+1 scaledValueOfSecondWavelength:?+4",
    "tile": "tileClassification:1 totalNumberOfTileAttributePairs:1 numberOfUsedSpatialTiles:1 tileIndex:1 "
    "numberOfUsedTileAttributes:1 attributeOfTile:1",
    "reforecast": "YearOfModelVersion:2 MonthOfModelVersion:1 DayOfModelVersion:1 HourOfModelVersion:1 "
    "MinuteOfModelVersion:1 SecondOfModelVersion:1",
    "postprocess": "inputProcessIdentifier:2 inputOriginatingCentre:2 typeOfPostProcessing:1",
    "wave": "waveDirectionNumber:2 numberOfWaveDirections:2 waveFrequencyNumber:2 numberOfWaveFrequencies:2",
    "period": "typeOfWavePeriodInterval:1 scaleFactorOfLowerWavePeriodLimit:?+1 scaledValueOfLowerWavePeriodLimit:?4 "
    "scaleFactorOfUpperWavePeriodLimit:?+1 scaledValueOfUpperWavePeriodLimit:?4",
    "radar": "typeOfGeneratingProcess:1 numberOfRadarSitesUsed:1 indicatorOfUnitOfTimeRange:1 siteLatitude:4 "
    "siteLongitude:4 siteElevation:2 siteId:4 siteNumber:2 operatingMode:1 reflectivityCalibrationConstant:1 "
    "qualityControlIndicator:1 clutterFilterIndicator:1 constantAntennaElevationAngle:1 accumulationInterval:2 "
    "referenceReflectivityForEchoTop:1 rangeBinSpacingUpperOctet:1 rangeBinSpacingLowerOctets:2 radialAngularSpacing:2",
    "statistics": "yearOfEndOfOverallTimeInterval:2 monthOfEndOfOverallTimeInterval:1 dayOfEndOfOverallTimeInterval:1 "
    "hourOfEndOfOverallTimeInterval:1 minuteOfEndOfOverallTimeInterval:1 secondOfEndOfOverallTimeInterval:1 "
    "numberOfTimeRanges:1 numberOfMissingInStatisticalProcess:4",
    "range": "typeOfStatisticalProcessing:1 typeOfTimeIncrement:1 indicatorOfUnitForTimeRange:1 lengthOfTimeRange:4 "
    "indicatorOfUnitForTimeIncrement:1 timeIncrement:4",
    "band": "satelliteSeries:2 satelliteNumber:2 instrumentType:2 scaleFactorOfCentralWaveNumber:?+1 "
    "scaledValueOfCentralWaveNumber:?4",
    "band30": "satelliteSeries:2 satelliteNumber:2 instrumentType:1 scaleFactorOfCentralWaveNumber:?+1 "
    "scaledValueOfCentralWaveNumber:?4",
    "partitions": "partitionTable:1 numberOfPartitions:1",
    "item": "partitionItem:2",
    "partition": "partitionNumber:2",
    "distribution": "numberOfModeOfDistribution:2 modeNumber:2 typeOfDistributionFunction:2 "
    "numberOfDistributionFunctionParameters:1",
    "distributed": "scaleFactorOfDistributionFunctionParameter:?+1 scaledValueOfDistributionFunctionParameter:?4",
    "categories": "numberOfCategories:1",
    "category": "codeFigure:1 categoryType:1 scaleFactorOfLowerLimit:?+1 scaledValueOfLowerLimit:?+4 "
    "scaleFactorOfUpperLimit:?+1 scaledValueOfUpperLimit:?+4",
    "characters": "numberOfCharacters:4",
}
REPEATED: Mapping[str, tuple[str, str]] = {
    "statistics": ("numberOfTimeRanges", "range"),
    "satellite": ("NB", "band"),
    "satellite30": ("NB", "band30"),
    "partitions": ("numberOfPartitions", "item"),
    "distribution": ("numberOfDistributionFunctionParameters", "distributed"),
    "categories": ("numberOfCategories", "category"),
}
"""Blocks behind which another one stands as many times as one of its keys says. Only the first of them is kept."""

_POINT = "parameter process forecast surfaces"
_CHEMICAL = "parameter chemical process forecast surfaces"
_AEROSOL = "parameter aerosol size process forecast surfaces"
_OPTICAL = "parameter aerosol size optical process forecast surfaces"
_TILE = "parameter tile process forecast surfaces"
_PARTITION = "parameter partitions partition process forecast surfaces"
_DISTRIBUTED = "parameter chemical distribution process forecast surfaces"
_POST = "parameter postprocess process forecast surfaces"
_SOURCE = "parameter chemical source process forecast surfaces"

TEMPLATES: Mapping[int, str] = {
    0: _POINT,
    1: f"{_POINT} member",
    2: f"{_POINT} derived",
    3: f"{_POINT} derived rectangle",
    4: f"{_POINT} derived circle",
    5: f"{_POINT} probability",
    6: f"{_POINT} percentile",
    7: _POINT,
    8: f"{_POINT} statistics",
    9: f"{_POINT} probability statistics",
    10: f"{_POINT} percentile statistics",
    11: f"{_POINT} member statistics",
    12: f"{_POINT} derived statistics",
    13: f"{_POINT} derived rectangle statistics",
    14: f"{_POINT} derived circle statistics",
    15: f"{_POINT} spatial",
    20: "parameter radar",
    30: "parameter observation satellite30",
    31: "parameter observation satellite",
    32: "parameter process forecast satellite",
    33: "parameter process forecast satellite member",
    34: "parameter process forecast satellite member statistics",
    35: "parameter observation quality satellite",
    40: _CHEMICAL,
    41: f"{_CHEMICAL} member",
    42: f"{_CHEMICAL} statistics",
    43: f"{_CHEMICAL} member statistics",
    44: "parameter aerosol size process forecast44 surfaces",
    45: f"{_AEROSOL} member",
    46: f"{_AEROSOL} statistics",
    47: f"{_AEROSOL} member statistics",
    48: _OPTICAL,
    49: f"{_OPTICAL} member",
    50: _AEROSOL,
    51: f"{_POINT} categories",
    53: _PARTITION,
    54: f"{_PARTITION} member",
    55: _TILE,
    59: f"{_TILE} member",
    62: f"{_TILE} statistics",
    63: f"{_TILE} member statistics",
    57: _DISTRIBUTED,
    58: f"{_DISTRIBUTED} member",
    67: f"{_DISTRIBUTED} statistics",
    68: f"{_DISTRIBUTED} member statistics",
    60: f"{_POINT} member reforecast",
    61: f"{_POINT} member reforecast statistics",
    70: _POST,
    71: f"{_POST} member",
    72: f"{_POST} statistics",
    73: f"{_POST} member statistics",
    76: _SOURCE,
    77: f"{_SOURCE} member",
    78: f"{_SOURCE} statistics",
    79: f"{_SOURCE} member statistics",
    86: f"{_POINT} quantile",
    87: f"{_POINT} quantile statistics",
    91: f"{_POINT} categories statistics",
    103: "parameter period process forecast surfaces",
    104: "parameter period process forecast surfaces member",
    254: "parameter characters",
    1000: "parameter process forecast",
    1001: "parameter process forecast statistics",
}


class Key(NamedTuple):
    """A number in a section: octets, whether it has a sign bit, whether all bits set mean that it is missing."""

    name: str
    octets: int
    signed: bool
    missing: bool


def keys_of(block: str) -> tuple[Key, ...]:
    """The keys of a block.

    >>> keys_of("a:1 b:?+4")
    (Key(name='a', octets=1, signed=False, missing=False), Key(name='b', octets=4, signed=True, missing=True))
    """
    found = []
    for word in block.split():
        name, _, form = word.partition(":")
        found.append(Key(name, int(form.lstrip("?+")), "+" in form, "?" in form))
    return tuple(found)
